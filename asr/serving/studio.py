"""Prompts, takes and training: the routes by which a recogniser is made on the page."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, Response

from asr.serving import answers
from asr.serving.commanding import check_place, command_line, lacking, write_lexicon
from asr.serving.levels import LONGEST_S, too_long
from asr.serving.listening import HIGHEST_HZ, LOWEST_HZ
from asr.serving.recognition import PROBLEMS, RECORDING, one_recording
from asr.serving.refusals import CONFLICT, UNUSABLE, Refusal
from asr.serving.state import Server
from asr.serving.takes import Take, Takes
from features.audio import AudioInfo, read_audio

SLACK_S = 1.0  # by which a header may be wrong about the length


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
        return await server.compute(request, lambda: studio_of(server.takes))

    @router.put("/prompts", summary="Set the prompts")
    async def set_prompts(request: Request, wanted: answers.Prompts) -> answers.Studio:
        await server.compute(request, lambda: server.takes.set_prompts(wanted.prompts))
        return await server.compute(request, lambda: studio_of(server.takes))


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
        return answers.training(server.training.now(), server.hidden)

    @router.post("/training", summary="Train on the takes", status_code=202)
    async def start(request: Request) -> answers.TrainingAnswer:
        arguments = await server.compute(request, lambda: prepared(server))
        await server.training.start(arguments)
        return await progress()

    @router.delete("/training", summary="Cancel the training")
    async def cancel() -> answers.TrainingAnswer:
        await server.training.cancel()
        return await progress()


def studio_of(takes: Takes) -> answers.Studio:
    """Return prompts and takes, as the page shows them."""
    found, prompts = takes.all(), takes.prompts()
    return answers.Studio(
        folder=takes.folder.absolute().name,
        prompts=prompts,
        takes=[answers.take(each) for each in found],
        lacking=lacking(found, prompts),
    )


def prepared(server: Server) -> list[str]:
    """Return the arguments of ``asr`` for a training; its lexicon is written. `Refusal` of too few takes."""
    server.training.check_idle()  # it reads the lexicon, too
    folder, experiment = server.takes.folder, server.served.experiment
    prompts, found = server.takes.prompts(), server.takes.all()
    if missing := lacking(found, prompts):
        raise Refusal(f"too few takes: {'; '.join(missing[:3])}; record more", CONFLICT)
    check_place(experiment, folder)
    write_lexicon(folder, prompts)
    return command_line(experiment, folder)


def check_free(server: Server) -> None:
    """Refuse to change the takes while a training reads them, which would end it."""
    if server.training.is_running:
        raise Refusal("a training reads the takes, expected no change to them; wait, or cancel it", CONFLICT)


def check_take(info: AudioInfo) -> None:
    """Refuse by its header what is no take: decoded, a small file can be very large."""
    if info.duration_s > LONGEST_S + SLACK_S:
        raise Refusal(too_long(info.duration_s), UNUSABLE)
    if not LOWEST_HZ <= info.sample_rate <= HIGHEST_HZ:
        raise Refusal(
            f"{info.sample_rate} Hz, expected {LOWEST_HZ} to {HIGHEST_HZ} Hz; record at another rate",
            UNUSABLE,
        )
