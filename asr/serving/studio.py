"""Prompts, takes and training: the routes by which a recogniser of commands is made on the page.

Each word has units of its own in place of letters or phones: with five takes of ten digits by one speaker
that is right for 92 to 99.5 words of 100 where letters are for 89 to 98 (``docs/howto/live.md``).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from math import ceil
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, Response
from pydantic import ValidationError

from asr.corpora.corpus import lexicon_of, scan_parts
from asr.errors import CorpusError
from asr.experiment import CONFIG
from asr.files import check_outside, read_json, write_text
from asr.language.grammars import COMMANDS_FILE, read_commands
from asr.language.pronunciations import guesses_of
from asr.serving import answers
from asr.serving.limits import CONFLICT, UNUSABLE, Refusal
from asr.serving.listening import HIGHEST_HZ, LOWEST_HZ
from asr.serving.recognition import PROBLEMS, RECORDING, one_recording
from asr.serving.state import Server
from asr.serving.takes import (
    LEAST_PROMPTS,
    LEXICON,
    LONGEST_S,
    Contents,
    Take,
    check_distinct,
    check_words,
    checked_prompts,
    counts,
    plain_words,
    stored,
    too_long,
)
from asr.text.forms import WordForms, without_remarks
from decoder.lexicon import Lexicon
from features.audio import AudioInfo, read_audio
from foundation.errors import AsrError, in_a_line
from foundation.files import text_of

MOST_NAMED = 20  # of what is left aside; by feel
MANY_WORDS = 2000  # of a lexicon; by feel
LEAST_TAKES, LEAST_IN_ALL = 3, 10  # of a prompt, and in all, by feel
FEWEST_UNITS, MOST_UNITS = 3, 12  # of a word, by feel
OWN_UNIT = "~"  # between a word and the number of its unit, so that no letter is taken for one
SLACK_S = 1.0  # by which a header may be wrong about the length; by feel


def studio_routes(server: Server) -> APIRouter:
    """Return the routes."""
    router = APIRouter(prefix="/api", responses=PROBLEMS)
    _route_prompts(router, server)
    _route_takes(router, server)
    _route_training(router, server)
    return router


def _route_prompts(router: APIRouter, server: Server) -> None:
    @router.get("/takes", summary="Prompts and takes")
    async def listed(request: Request) -> answers.Studio:
        return await server.compute(request, lambda: studio_of(server))

    @router.put("/prompts", summary="Set the prompts")
    async def set_prompts(request: Request, wanted: answers.Prompts) -> answers.Studio:
        def keep() -> None:
            check_lexicon(server.takes.folder, checked_prompts(wanted.prompts))
            server.takes.set_prompts(wanted.prompts)

        await server.compute(request, keep)
        return await server.compute(request, lambda: studio_of(server))


def _route_takes(router: APIRouter, server: Server) -> None:
    takes = server.takes

    @router.post("/takes", summary="Keep a recording of a prompt", openapi_extra=RECORDING)
    async def add(request: Request, prompt: str) -> answers.TakeAnswer:
        check_free(server)
        async with one_recording(request, server) as (path, info):
            check_take(info)

            def keep() -> Take:
                samples = read_audio(path, None)
                check_free(server)  # it may have begun while the take arrived
                return takes.add(prompt, samples, info.sample_rate)

            return answers.take(await server.compute(request, keep))

    @router.get("/takes/{name}", summary="The sound of a take", response_class=FileResponse)
    async def sound(request: Request, name: str) -> FileResponse:
        path = await server.compute(request, lambda: takes.path(name))
        return FileResponse(path, media_type="audio/wav")

    @router.delete("/takes/{name}", summary="Delete a take", status_code=204)
    async def delete(request: Request, name: str) -> Response:
        check_free(server)
        await server.compute(request, lambda: takes.delete(name))
        return Response(status_code=204)


def _route_training(router: APIRouter, server: Server) -> None:
    @router.get("/training", summary="How far the training is")
    async def progress() -> answers.TrainingAnswer:
        return answers.training(server.training.now(), server.hidden, server.place)

    @router.post("/training", summary="Train on the takes", status_code=202)
    async def start(request: Request) -> answers.TrainingAnswer:
        arguments = await server.compute(request, lambda: prepared(server))
        await server.training.start(arguments)
        return await progress()

    @router.delete("/training", summary="Cancel the training")
    async def cancel() -> answers.TrainingAnswer:
        await server.training.cancel()
        return await progress()


def studio_of(server: Server) -> answers.Studio:
    """Return prompts and takes, as the page shows them, and how well the takes were recognised."""
    contents = server.takes.contents()
    found, prompts = contents.takes, contents.prompts
    said = {take.name: take.prompt for take in found}
    written = {
        " ".join(plain_words(prompt)): prompt for prompt in prompts
    }  # as the lexicon has them, and here
    trained = []
    for row in server.served.heard_takes():
        with suppress(ValidationError, TypeError):  # what somebody has changed tells nothing
            own = answers.HeardTake.model_validate(row)
            named = {"said": said.get(own.id, own.said), "heard": written.get(own.heard, own.heard)}
            trained.append(own.model_copy(update=named))
    is_same_list = bool(trained) and {" ".join(words) for words in server.served.commands()} == written.keys()
    return answers.Studio(
        folder=in_a_line(server.takes.folder.absolute().name),
        prompts=list(prompts),
        takes=[answers.take(each) for each in found],
        aside=[*contents.aside[:MOST_NAMED], *more_aside(contents)],
        lacking=lacking(found, prompts),
        n_lacking=n_lacking(found, prompts),
        least_of_each=least_of_each(prompts),
        heard=[row for row in trained if row.id in said],
        is_trained=bool(trained) and {row.id for row in trained} == said.keys() and is_same_list,
    )


def prepared(server: Server) -> list[str]:
    """Return the arguments of ``asr`` for a training; its lexicon is written. `Refusal` of too few takes."""
    server.training.check_idle()  # it reads the lexicon, too
    folder, experiment = server.takes.folder, server.served.experiment
    contents = server.takes.contents()
    if missing := lacking(contents.takes, contents.prompts):
        raise Refusal(f"too few recordings; still to say: {', '.join(missing[:3])}; record more", CONFLICT)
    check_place(experiment, folder)
    for prompt in contents.prompts:
        check_words(prompt)  # they may be texts that were not written here
    check_distinct(contents.prompts)
    check_folder(folder)
    check_lexicon(folder, contents.prompts)
    write_task(folder, contents.prompts, {take.prompt for take in contents.takes})
    return command_line(experiment, folder)


def check_folder(folder: Path) -> None:
    """Refuse a folder at which a training would stop: it reads it in the same way."""
    _, problems = scan_parts(folder, "one")
    wrong = [in_a_line(str(p).removeprefix(".: ")) for p in problems if p.severity == "error"]
    if wrong:
        more = f" (and {len(wrong) - 1} more, see: asr validate)" if len(wrong) > 1 else ""
        raise Refusal(f"a training stops at what lies in the folder: {wrong[0]}{more}", CONFLICT)


def check_lexicon(folder: Path, prompts: Sequence[str]) -> None:
    """Refuse commands with words that a lexicon of the user's own neither has nor teaches."""
    path = lexicon_of(folder)
    if path is None or is_made_here(path):
        return
    lexicon = Lexicon.read(path)
    find = WordForms(without_remarks(lexicon)).find
    missing = {word for prompt in prompts for word in prompt.split() if find(word) is None}
    if missing and len(lexicon) < MANY_WORDS:  # more words teach how others are pronounced
        missing -= guesses_of(missing, lexicon, 1).shares.keys()
        if missing:
            more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
            raise Refusal(
                f'"{min(missing)}"{more} is not in the {path.name} of the folder and cannot be guessed from '
                "it, expected all words of the commands there; add it, or remove the file",
                CONFLICT,
            )


def more_aside(contents: Contents) -> list[str]:
    """Return a line of what is left aside and not named, if there is any."""
    n_more = len(contents.aside) - MOST_NAMED
    return [f"and {n_more} more, see: asr validate"] if n_more > 0 else []


def check_free(server: Server) -> None:
    """Refuse to change the takes while a training reads them, which would end it."""
    if server.training.is_running:
        raise Refusal("a training reads the takes, expected no change to them; wait, or cancel it", CONFLICT)


def check_take(info: AudioInfo) -> None:
    """Refuse by its header what cannot be a take, since a small file can be very large once it is decoded."""
    if info.duration_s > LONGEST_S + SLACK_S:
        raise Refusal(too_long(info.duration_s), UNUSABLE)
    if not LOWEST_HZ <= info.sample_rate <= HIGHEST_HZ:
        raise Refusal(
            f"{info.sample_rate} Hz, expected {LOWEST_HZ} to {HIGHEST_HZ} Hz; record at another rate",
            UNUSABLE,
        )


def units_of(word: str) -> tuple[str, ...]:
    """Return a word's own units, as many as it has letters, within bounds.

    >>> units_of("on")
    ('on~1', 'on~2', 'on~3')
    """
    n_units = min(max(len(word), FEWEST_UNITS), MOST_UNITS)
    return tuple(f"{word}{OWN_UNIT}{n}" for n in range(1, n_units + 1))


def write_task(folder: Path, prompts: Sequence[str], others: Iterable[str] = ()) -> None:
    """Write what a training needs beside the takes: the list of commands, and the lexicon.

    Parameters
    ----------
    folder : of the takes
    prompts : the commands, of which a sentence shall be one
    others : what takes say besides, such as commands that are listed no more
    """
    spoken = [*prompts, *others]
    with stored(f"{LEXICON} and {COMMANDS_FILE} cannot be written"):
        with suppress(CorpusError):  # there is none yet, or nobody can read it
            # Whenever this is broken off, the words of the list that is there are in the lexicon.
            write_lexicon(folder, [*spoken, *(" ".join(words) for words in read_commands(folder))])
        write_text(folder / COMMANDS_FILE, "".join(f"{prompt}\n" for prompt in prompts))
        write_lexicon(folder, spoken)


def write_lexicon(folder: Path, prompts: Sequence[str]) -> None:
    """Write the lexicon of the prompts' words, unless the folder has one that was not made here."""
    path = folder / LEXICON
    if os.path.lexists(path) and not is_made_here(path):
        return
    words = {word for prompt in prompts for word in plain_words(prompt)}
    write_text(path, _lexicon_of(words).format())


def is_made_here(path: Path) -> bool:
    """Return whether a lexicon is one that `write_lexicon` wrote and nobody has changed since.

    A unit with the mark of ours in it says nothing: SAMPA writes nasal vowels ``o~``.
    """
    try:
        text = text_of(path)
        return text == _lexicon_of(Lexicon.read(path).words).format()
    except (OSError, UnicodeDecodeError, AsrError):  # the training says what is wrong with it
        return False


def _lexicon_of(words: Iterable[str]) -> Lexicon:
    return Lexicon({word: [units_of(word)] for word in sorted(words)})


def lacking(takes: Sequence[Take], prompts: Sequence[str]) -> list[str]:
    """Return what must still be recorded before anything can be trained."""
    found = {prompt: n for prompt, n in counts(takes, prompts).items() if prompt in prompts}
    if not prompts:
        return ["your list of commands"]
    few = [f"“{prompt}” {_times(LEAST_TAKES - n)}" for prompt, n in found.items() if n < LEAST_TAKES]
    if len(prompts) < LEAST_PROMPTS:
        few.append("a second command, so that there is something to tell apart")
    n_listed = sum(found.values())
    if not few and n_listed < LEAST_IN_ALL:
        few.append(f"any of them {_times(LEAST_IN_ALL - n_listed)}")
    return few


def n_lacking(takes: Sequence[Take], prompts: Sequence[str]) -> int:
    """Return how many recordings must still be made before anything can be trained."""
    found = [n for prompt, n in counts(takes, prompts).items() if prompt in prompts]
    return max(sum(max(LEAST_TAKES - n, 0) for n in found), LEAST_IN_ALL - sum(found), 0)


def least_of_each(prompts: Sequence[str]) -> int:
    """Return how often each prompt must be said so that a training is possible.

    >>> least_of_each(["yes", "no", "stop"]), least_of_each(["up", "down"])
    (4, 5)
    """
    return max(LEAST_TAKES, ceil(LEAST_IN_ALL / max(len(prompts), LEAST_PROMPTS)))


def _times(n: int) -> str:
    return {1: "once", 2: "twice"}.get(n, f"{n} times")


def check_place(experiment: Path, folder: Path) -> None:
    """Refuse to train over an experiment that was made from something else."""
    check_outside(experiment, folder)
    if not (experiment / CONFIG).is_file():
        return
    record = read_json(experiment / CONFIG)
    corpus = record.get("corpus") if isinstance(record, dict) else None
    if corpus is None or Path(corpus).resolve() != folder.resolve():
        raise Refusal(
            f'the experiment "{experiment.name}" was trained from other recordings, expected an empty '
            "one, or one of these takes; start asr serve with another EXP",
            CONFLICT,
        )


def command_line(experiment: Path, folder: Path) -> list[str]:
    """Return the arguments of ``asr`` that train on the takes."""
    places = ["--corpus", str(folder.absolute()), "--out", str(experiment.absolute())]
    return ["train", "folder", *places, "--model", "pools", "--speakers", "one", "-v"]
