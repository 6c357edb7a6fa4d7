"""Turn the formulas of a page into MathML while the site is built.

A browser draws MathML by itself, so a page with formulas needs no script.
"""

import html
import re
import xml.etree.ElementTree as ET

from latex2mathml.converter import convert

MATHML = "http://www.w3.org/1998/Math/MathML"

FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[]'
    r"(?P<latex>.*?)"
    r"\\[)\]]</(?P=tag)>"
    r"(?P<tail>[^\s<]*)",
    re.DOTALL,
)

# latex2mathml reads neither name, and under the second one it does the same.
SAME_BY_ANOTHER_NAME = {
    "{aligned}": "{split}",
    r"\mathrm{": r"\operatorname{",
}

CHILDREN = {
    "mfrac": 2,
    "mroot": 2,
    "msub": 2,
    "msup": 2,
    "munder": 2,
    "mover": 2,
    "msubsup": 3,
    "munderover": 3,
}

SYMBOLS_THAT_ARE_NO_OPERATORS = ("∂", "∞")
OPERATORS_WITHOUT_SPACE = ("/", "|")
PRIMES = ("′", "″", "‴")


def render_maths(page: str) -> str:
    """Return the page's HTML with each formula left by arithmatex as MathML.

    Raises:
        ValueError: A formula is not understood; the message names it.
    """
    return FORMULA.sub(_render_match, page)


def latex_to_mathml(latex: str, display: str) -> str:
    """Return one formula as a `<math>` element.

    Args:
        latex: The formula, without its delimiters.
        display: "inline" or "block".

    Raises:
        ValueError: The formula is not understood.
    """
    source = latex
    for name, readable in SAME_BY_ANOTHER_NAME.items():
        source = source.replace(name, readable)
    try:
        root = ET.fromstring(convert(source, display=display))
    except Exception as error:  # latex2mathml's errors have no common base
        reason = f"{type(error).__name__} {error}".strip()
        raise _unreadable(latex, reason) from error
    for words in root.iter(f"{{{MATHML}}}mtext"):
        words.text = (words.text or "").replace(r"\_", "_")
    if misread := _misread(source, root):
        raise _unreadable(latex, misread)
    _set_as_tex_does(root)
    ET.register_namespace("", MATHML)
    return ET.tostring(root, encoding="unicode")


def _render_match(match: re.Match[str]) -> str:
    latex = html.unescape(match["latex"]).strip()
    tail = match["tail"]
    if match["tag"] == "span":
        formula = latex_to_mathml(latex, "inline")
        # A browser would break the line between a formula and its comma.
        return f'<span class="unbroken">{formula}{tail}</span>'
    # A formula wider than a phone scrolls in its box; tabindex lets the
    # keyboard scroll it too.
    formula = latex_to_mathml(latex, "block")
    return f'<div class="maths" tabindex="0">{formula}</div>{tail}'


def _unreadable(latex: str, reason: str) -> ValueError:
    return ValueError(f"cannot read the formula {latex!r}: {reason}")


def _misread(latex: str, root: ET.Element) -> str:
    """Say what latex2mathml passed over without an error, or nothing."""
    bare = re.sub(r"\\.", "", latex)
    if bare.count("{") != bare.count("}"):
        return "its braces do not match"
    tables = sum(_name(element) == "mtable" for element in root.iter())
    if tables < latex.count(r"\begin"):
        return "an environment is unknown"
    for element in root.iter():
        text = element.text or ""
        if "\\" in text:
            return f"{text} is unknown"
        if element.get("linebreak"):
            return r"a line break stands outside \begin{aligned}"
        if _is_incomplete(element):
            return f"<{_name(element)}> lacks a part"
    return ""


def _is_incomplete(element: ET.Element) -> bool:
    if _name(element) == "mo" and not element.get("fence"):
        return not element.text
    return len(element) < CHILDREN.get(_name(element), 0)


def _set_as_tex_does(root: ET.Element) -> None:
    """Correct what latex2mathml's elements make a browser draw differently.

    It writes functions' names, ∂ and ∞ as operators, around which a browser
    leaves the space that stands around a plus; Greek capitals come out
    italic; a prime, which its font draws raised and small, is raised and
    made small a second time.
    """
    for element in root.iter():
        name, text = _name(element), element.text or ""
        is_function = name == "mo" and text.isalpha()
        if is_function or text in SYMBOLS_THAT_ARE_NO_OPERATORS:
            element.tag = f"{{{MATHML}}}mi"
        if is_function or (name == "mi" and "Α" <= text <= "Ω"):
            element.set("mathvariant", "normal")
        if text in OPERATORS_WITHOUT_SPACE:
            element.set("lspace", "0")
            element.set("rspace", "0")
        if name == "msup" and element[1].text in PRIMES:
            element.tag = f"{{{MATHML}}}mrow"


def _name(element: ET.Element) -> str:
    return element.tag.removeprefix(f"{{{MATHML}}}")
