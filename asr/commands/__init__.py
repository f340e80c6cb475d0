"""The verbs of the command line: a group of them is one module here, and holds them whole.

Of each verb such a module has, one below the other: what it takes (``_takes_…``), the function that does the
work (`asr.train`, `asr.decode`: paths, names and numbers in, records out, nothing printed), what is done with
the options and printed as JSON or as text (``_run_…``), and its row of `VERBS`, which names all that with an
example and the keys of its JSON. Work that is long stands in a module of its own: beside them here, as
`asr.commands.doctor` and `asr.commands.sweeps`, or in the room that it belongs to, as `asr.planning`.

To add a verb: these paragraphs in the module of its group. To add a group: a module and its row of
`asr.cli.GROUPS`. What they share is in `asr.commands.parsing` and `asr.commands.printing`; help, completion
(`asr.commands.completion`) and ``docs/commands.md`` (`asr.commands.pages`) follow from the rows.

Help waits for these modules. So none of them imports at its head what numpy or a recogniser needs: a verb
imports its work when it runs.
"""
