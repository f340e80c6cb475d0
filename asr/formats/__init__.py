"""File formats of words, alignments and tables: one module a format, which reads and writes it.

``praat_elan`` has TextGrid and eaf, ``nist`` CTM and STM, ``captions`` srt and vtt, ``mlf`` HTK's label
files, ``htk`` what HTK's programs need beside a model, ``transcripts`` Kaldi's text and trn, ``tables`` csv,
tsv, jsonl and Kaldi's lists, ``arrays`` what is exported as numbers. ``outputs`` says what each verb can
write. ``model_directories`` says what lies in the directory of a trained model.
"""
