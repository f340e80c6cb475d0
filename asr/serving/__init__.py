"""The local page and its interface for programs: what ``asr serve`` offers."""
