"""What each verb of the command line does, a module for each group of verbs.

A command knows of options and of standard output, and of nothing else: it hands the options to the function
that does the work, refuses those that do not go together, and prints what comes back, as text for people or,
with ``--json``, as one record for programs (`asr.commands.records`). What is worth calling from Python
belongs into that function: those of most verbs are in `asr.verbs`, others in modules of their own
(`asr.sweeps`, …).
"""

from asr.commands import begin, data, live, models, other_tools, recordings

COMMANDS = {
    **begin.COMMANDS,
    **data.COMMANDS,
    **models.COMMANDS,
    **recordings.COMMANDS,
    **live.COMMANDS,
    **other_tools.COMMANDS,
}
