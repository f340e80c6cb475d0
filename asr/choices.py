"""What the command line offers to choose from: names only, so that showing them takes no time."""

DECODE_FORMATS = ("text", "json", "ctm", "trn")
ALIGN_FORMATS = ("textgrid", "ctm", "mlf")
TRANSCRIPT_FORMATS = ("kaldi", "trn")
SPARSITY_SIZES = (25, 50, 100, 200)  # centres
