"""Make stix-two-math-subset.woff2 from the font of @fontsource/stix-two-math.

    python stix_two_math_subset.py stix-two-math-latin-400-normal.woff2

Needs fonttools and brotli. The result has the characters that formulas use,
a quarter of the font, and two corrections for Chromium. It reserves for a
root the width of the widest root sign that the font has, and so leaves a gap
behind √2: here all root signs get the width of the smallest. It draws a bar
that is a little thicker than a pixel as one or as two pixels, by chance: here
a bar is a little thinner than a pixel at the size of the book's text.
"""

import sys

from fontTools.subset import Options, Subsetter, parse_unicodes
from fontTools.ttLib import TTFont

CHARACTERS = """
20-7E A0-FF 131 237 300-308 370-3FF 2000-200A 2010-2016 2018-201D 2020 2022
2026 2032-2034 2044 2057 2061-2064 2070-208E 20D6 20D7 20E1 2102 210B 210E
2112 2113 2115 211D 2124 2190-2199 21A6 21D0-21D4 2200-22EF 2308-230B 2320
2321 239B-23B7 23D0 23DC-23E1 25A0 25AA 25B3 25CB 25CF 27E6-27EB 27F5-27FA
2A00-2A02 2A7D 2A7E 1D400-1D49B 1D49C-1D4CF 1D538-1D56B 1D6A4 1D6A5
1D6E2-1D71B
"""


def subset(font: TTFont) -> None:
    subsetter = Subsetter(Options(layout_features=["*"], hinting=False))
    subsetter.populate(unicodes=parse_unicodes(CHARACTERS))
    subsetter.subset(font)


def narrow_roots(font: TTFont) -> None:
    root = font.getBestCmap()[ord("√")]
    variants = font["MATH"].table.MathVariants
    place = variants.VertGlyphCoverage.glyphs.index(root)
    construction = variants.VertGlyphConstruction[place]
    taller = {it.VariantGlyph for it in construction.MathGlyphVariantRecord}
    taller |= {it.glyph for it in construction.GlyphAssembly.PartRecords}
    for name in taller - {root}:
        narrow(font, name, font["hmtx"][root][0])


def narrow(font: TTFont, name: str, width: int) -> None:
    old_width, bearing = font["hmtx"][name]
    scale = width / old_width
    glyph = font["glyf"][name]
    glyph.coordinates.scale((scale, 1))
    glyph.coordinates.toInt()
    font["hmtx"][name] = (width, round(bearing * scale))


def thin_bars(font: TTFont) -> None:
    constants = font["MATH"].table.MathConstants
    constants.FractionRuleThickness.Value = 52
    constants.RadicalRuleThickness.Value = 52


def main() -> None:
    font = TTFont(sys.argv[1])
    subset(font)
    narrow_roots(font)
    thin_bars(font)
    font.flavor = "woff2"
    font.save("stix-two-math-subset.woff2")


main()
