"""The page and its parts, which come with the package: a fixed list, read when the server starts."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from asr.serving.refusals import NOT_FOUND

ASSETS = Path(__file__).with_name("assets")
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def page_routes() -> APIRouter:
    """Return the routes."""
    router = APIRouter(include_in_schema=False)
    files = {path.name: path.read_bytes() for path in ASSETS.iterdir() if path.suffix in KINDS}

    @router.get("/")
    async def index() -> Response:
        return _asset("index.html", files)

    @router.get("/assets/{name}")
    async def asset(name: str) -> Response:
        return _asset(name, files)

    return router


def _asset(name: str, files: dict[str, bytes]) -> Response:
    if name not in files:
        raise HTTPException(NOT_FOUND)
    return Response(files[name], media_type=KINDS[Path(name).suffix])
