"""Prompts, takes and training: the routes by which a recogniser is made on the page."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, Response

from asr.serving import answers
from asr.serving.commanding import check_place, command_line, lacking, write_lexicon
from asr.serving.levels import LONGEST_S, too_long
from asr.serving.listening import HIGHEST_HZ, LOWEST_HZ
from asr.serving.recognition import PROBLEMS, RECORDING
from asr.serving.refusals import CONFLICT, UNUSABLE, Refusal
from asr.serving.state import Server
from asr.serving.takes import Take
from asr.serving.uploads import checked, uploaded
from features.audio import AudioInfo, read_audio

SLACK_S = 1.0  # by which a header may be wrong about the length


def studio_routes(server: Server) -> APIRouter:
    """Return the routes."""
    router = APIRouter(prefix="/api", responses=PROBLEMS)
    takes = server.takes

    def studio() -> answers.Studio:
        found, prompts = takes.all(), takes.prompts()
        return answers.Studio(
            folder=takes.folder.absolute().name,
            prompts=prompts,
            takes=[answers.take(each) for each in found],
            lacking=lacking(found, prompts),
        )

    @router.get("/takes", summary="Prompts and takes")
    async def listed(request: Request) -> answers.Studio:
        return await server.compute(request, studio)

    @router.put("/prompts", summary="Set the prompts")
    async def set_prompts(request: Request, wanted: answers.Prompts) -> answers.Studio:
        await server.compute(request, lambda: takes.set_prompts(wanted.prompts))
        return await server.compute(request, studio)

    @router.post("/takes", summary="Keep a recording of a prompt", openapi_extra=RECORDING)
    async def add(request: Request, prompt: str) -> answers.TakeAnswer:
        check_free(server)
        with server.uploads.one():
            async with uploaded(request, server.limits) as path:
                info = checked(path, server.limits)
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

    @router.get("/training", summary="How far the training is")
    async def progress() -> answers.TrainingAnswer:
        return answers.training(server.training.now(), server.hidden)

    @router.post("/training", summary="Train on the takes", status_code=202)
    async def start(request: Request) -> answers.TrainingAnswer:
        def prepare() -> list[str]:
            prompts, found = takes.prompts(), takes.all()
            if missing := lacking(found, prompts):
                raise Refusal(f"too few takes: {'; '.join(missing[:3])}; record more", CONFLICT)
            check_place(server.served.experiment, takes.folder)
            write_lexicon(takes.folder, prompts)
            return command_line(server.served.experiment, takes.folder)

        await server.training.start(await server.compute(request, prepare))
        return await progress()

    @router.delete("/training", summary="Cancel the training")
    async def cancel() -> answers.TrainingAnswer:
        await server.training.cancel()
        return await progress()

    return router


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
