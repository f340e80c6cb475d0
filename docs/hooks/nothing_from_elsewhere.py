"""The site must load nothing from other hosts: no fonts, no scripts, no images."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

_LOADED = re.compile(r"<(?:script|img|iframe|link)\b[^>]*\s(?:src|href)=\"?((?:https?:)?//[^\" >]+)")


def on_post_build(config: Any) -> None:
    """Raise an error that names what pages load from elsewhere."""
    found = sorted(
        f"{path.relative_to(config.site_dir)}: {url}"
        for path in Path(config.site_dir).rglob("*.html")
        for url in set(_LOADED.findall(path.read_text(encoding="utf-8")))
    )
    if found:
        raise PluginError(f"pages load from other hosts, expected none: {'; '.join(found[:5])}")
