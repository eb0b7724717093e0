"""Documents to shingles to signatures to bands to pairs to clusters: specs and arrays.

Each step can be used by itself:

* texts to shingle sets: `neardup.core.shingle.shingle_sets`
* texts to signatures: `neardup.core.sign.sign`
* signatures to band keys, buckets, candidate pairs: `neardup.core.band`
* exact similarity of two texts or of many pairs: `neardup.core.verify`
* all pairs that reach a threshold, without banding: `neardup.core.join.join`
* clusters: `neardup.core.cluster`, `neardup.core.star`; what is kept: `neardup.core.keep`
* bands and rows for a recall: `neardup.core.tune.choose_bands`
"""
