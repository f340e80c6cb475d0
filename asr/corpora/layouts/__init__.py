"""How corpora lie on disk: each `Layout` says whether a directory has its form, and what is in it.

``all_layouts`` tells which one a directory has. ``kaldi`` and ``sphinx`` are also written. ``metadata`` reads
tables of recordings, Common Voice's and LJSpeech's among them, ``lists`` lists of transcripts and
LibriSpeech, ``lhotse`` its manifests, ``beside`` a transcript beside each recording in any format of
`asr.formats`.
"""
