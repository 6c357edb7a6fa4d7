"""Formulas become MathML, and one that is not understood is an error."""

import xml.etree.ElementTree as ET

import markdown
import pytest

from bookpress.maths import latex_to_mathml, render_maths


def inline(latex: str) -> str:
    return latex_to_mathml(latex, "inline")


def page_from(text: str) -> str:
    return markdown.markdown(
        text,
        extensions=["pymdownx.arithmatex"],
        extension_configs={"pymdownx.arithmatex": {"generic": True}},
    )


def test_inline_and_display_formulas_of_a_page() -> None:
    page = render_maths(
        page_from("The slope $x < y$ is\n\n$$\n\\Phi(x)\n$$\n\nhere.")
    )
    assert page.count("<math ") == 2
    assert page.count('display="inline"') == 1
    assert page.count('display="block"') == 1
    assert '<div class="maths" tabindex="0"><math' in page
    assert "&lt;" in page
    assert "arithmatex" not in page
    assert "\\(" not in page


def test_a_formula_keeps_its_comma_on_its_line() -> None:
    page = render_maths(page_from("With $x$, and $y$ too."))
    assert page.count('<span class="unbroken"><math') == 2
    assert "</math>,</span> and" in page
    assert "</math></span> too." in page


def test_a_page_without_formulas_stays_as_it_is() -> None:
    page = '<p>A price of 5 $, and <code>class="arithmatex"</code>.</p>'
    assert render_maths(page) == page


@pytest.mark.parametrize(
    "latex",
    [
        r"\frac{d}{dx}\bigl[x\,\Phi(x)\bigr] = \Phi(x) + x\,\varphi(x)",
        r"\int_{-\infty}^{x} \tfrac{1}{\sqrt{2\pi}} e^{-t^2/2}\,dt",
        r"\tfrac12\bigl(1 + \operatorname{erf}(x/\sqrt2)\bigr)",
        r"\underbrace{\frac{\partial z}{\partial x}}_{\text{local}}",
        r"\left.\frac{a}{b}\right|_{x=0}",
        r"\begin{cases} 1 & x > 0 \\ 0 & \text{else} \end{cases}",
        r"\{x\} \subset \mathbb{R}^n",
    ],
)
def test_the_book_s_formulas_are_well_formed(latex: str) -> None:
    ET.fromstring(inline(latex))


def test_aligned_lines_become_a_table() -> None:
    mathml = inline(r"\begin{aligned} a &= b \\ &= c \end{aligned}")
    assert mathml.count("<mtr>") == 2
    assert 'columnalign="right"' in mathml


@pytest.mark.parametrize("command", ["operatorname", "mathrm"])
def test_a_function_s_name_is_upright_and_no_operator(command: str) -> None:
    mathml = inline(rf"\{command}{{erf}}(x)")
    assert '<mi mathvariant="normal">erf</mi>' in mathml


def test_a_name_with_an_underscore_in_a_formula() -> None:
    assert "<mtext>grad_output</mtext>" in inline(r"\text{grad\_output}_i")


def test_signs_are_spaced_as_in_text() -> None:
    assert inline(r"\partial L/2").count("<mi>∂</mi>") == 1
    assert '<mo lspace="0" rspace="0">/</mo>' in inline("x/2")


def test_a_prime_is_raised_once() -> None:
    assert "<msup" not in inline(r"\Phi'(x)")
    assert "<mi>′</mi>" in inline(r"\Phi'(x)")


def test_greek_capitals_are_upright() -> None:
    assert '<mi mathvariant="normal">Φ</mi>' in inline(r"\Phi(x)")
    assert "<mi>φ</mi>" in inline(r"\varphi(x)")


@pytest.mark.parametrize(
    ("latex", "reason"),
    [
        (r"\foo x", r"\foo is unknown"),
        (r"\begin{foo} a \end{foo}", "an environment is unknown"),
        (r"\frac{a", "braces"),
        (r"{a", "braces"),
        (r"a}", "braces"),
        (r"\frac{a}", "<mfrac> lacks a part"),
        ("a^", "MissingSuperScript"),
        (r"\left[ a", "ExtraLeftOrMissingRight"),
        (r"a \\ b", "a line break stands outside"),
        ("a & b", "ParseError"),
        (r"\operatorname{grad\_output}", "<mo> lacks a part"),
        ("", "NoAvailableTokens"),
    ],
)
def test_a_formula_that_is_not_understood_is_an_error(
    latex: str, reason: str
) -> None:
    with pytest.raises(ValueError, match="cannot read the formula") as error:
        inline(latex)
    assert repr(latex) in str(error.value)
    assert reason in str(error.value)


def test_the_error_names_the_formula_as_the_page_writes_it() -> None:
    with pytest.raises(ValueError, match="'a < \\\\\\\\foo'"):
        render_maths(page_from(r"$a < \foo$"))
