//! What is around the content of a page: head, colours, the top, and what made it.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::top::Top;
use crate::pictures::{HOVER_SCRIPT, HOVER_STYLE, MOVE_SCRIPT, PICTURE_STYLE, palette};

/// The look of text and tables. Pictures are at most 1100 px wide, as is the page.
const STYLE: &str = "\
@media (prefers-color-scheme:dark){.sheet svg{filter:invert(1) hue-rotate(180deg);\
mix-blend-mode:screen}}\
@media print{.sheet svg{filter:none;mix-blend-mode:normal}button,.slider,nav{display:none}\
html{font-size:9.5pt}body{max-width:none;padding:0}details:not([open]){display:none}\
table,figure{break-inside:avoid}h2,summary{break-after:avoid}details table{break-inside:auto}\
section:not(:has(>:not(h2,details),>details[open])){display:none}}\
*{box-sizing:border-box}\
body{margin:0 auto;max-width:calc(1100px + 2rem);padding:1rem;background:var(--paper);\
color:var(--ink);font:1rem/1.45 system-ui,sans-serif;overflow-wrap:anywhere}\
h1{font-size:1.25rem;font-weight:600;margin:0;text-wrap:balance}\
h2{font-size:1.2rem;margin:1.6rem 0 .4rem}\
h3{font-size:1rem;margin:1rem 0 .2rem}p{margin:.4rem 0}\
.answer{font-size:1.5rem;line-height:1.3;font-weight:700;margin:.5rem 0 .7rem;\
text-wrap:balance}\
.facts{display:flex;flex-wrap:wrap;gap:.4rem 2rem;margin:0 0 .6rem;padding:.5rem 0;\
border:solid var(--grid);border-width:1px 0;font-size:.9rem}\
.facts dt,footer{font-size:.8rem;color:var(--muted)}\
.warning{border-left:4px solid var(--care);padding-left:.7rem}\
figure{margin:.8rem 0}figcaption{margin-bottom:.4rem;font-size:.9rem;color:var(--muted)}\
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9rem;margin:.5rem 0}\
caption{text-align:left;font-weight:600;padding:.3rem 0}\
th,td{padding:.2rem .6rem;border-bottom:1px solid var(--grid);text-align:left;vertical-align:top;\
overflow-wrap:normal}\
tbody th{font-weight:600;position:sticky;left:0;background:var(--paper)}\
.number,.reason{text-align:right}.number{white-space:nowrap}\
pre{overflow-x:auto;padding:.6rem;border:1px solid var(--grid);font-size:.85rem}\
dl.list{display:grid;grid-template-columns:max-content 1fr;gap:.2rem .8rem;margin:.3rem 0}\
.list dt{color:var(--muted)}dd{margin:0}\
.severity{font-weight:600}.severity.warning{border:0;padding:0;color:var(--care)}\
.severity.error{color:var(--bad)}\
summary{cursor:pointer;margin:.4rem 0}\
footer{display:flex;flex-wrap:wrap;gap:1rem;align-items:center;margin-top:2rem}\
button{font:inherit;padding:.3rem .7rem}\
@media (max-width:600px){h1{font-size:1.05rem}.answer{font-size:1.25rem}\
dl.list{grid-template-columns:1fr}.figures{width:max-content}\
.figures td{max-width:24rem}.figures tbody th{max-width:40vw}\
.figures tbody :is(th,td){overflow-wrap:anywhere}}";

/// What a page, or a part of one, says.
pub(crate) struct Content {
    pub(crate) top: Top,
    /// The picture of the answer, then tables, then evidence.
    pub(crate) body: Markup,
}

/// Returns the whole page.
pub(crate) fn framed(title: &str, format: &str, content: &Content) -> String {
    let header = content.top.markup();
    whole(title, format, &header, &content.body)
}

/// Returns the page of several parts with a list of them; their titles are escaped here.
pub(crate) fn framed_parts(title: &str, format: &str, parts: &[(String, &Content)]) -> String {
    let list = html! {
        nav aria-label="Parts" { ul {
            @for (index, (name, _)) in parts.iter().enumerate() {
                li { a href=(format!("#part-{index}")) { (name) } }
            }
        } }
    };
    let body = html! {
        @for (index, (name, content)) in parts.iter().enumerate() {
            article id=(format!("part-{index}")) {
                h2 { (name) }
                (content.top.markup())
                (content.body)
            }
        }
    };
    whole(title, format, &list, &body)
}

fn whole(title: &str, format: &str, header: &Markup, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                title { (title) " – numalab" }
                style { (PreEscaped(palette())) (PreEscaped(STYLE)) (PreEscaped(PICTURE_STYLE))
                    (PreEscaped(HOVER_STYLE)) }
            }
            body {
                header { h1 { (title) } (header) }
                main { (body) }
                footer {
                    span { "numalab " (env!("CARGO_PKG_VERSION")) ", " (format) }
                    // Printed are the parts that are open.
                    button type="button" id="unfold" hidden { "Unfold everything" }
                }
                script { (PreEscaped(MOVE_SCRIPT)) (PreEscaped(HOVER_SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// Maximum number of characters of a text.
const TEXT_MAX: usize = 200_000;

/// Returns the same figures as the command prints them.
pub(crate) fn as_text(text: &str) -> Markup {
    let mut characters = text.chars();
    let start: String = characters.by_ref().take(TEXT_MAX).collect();
    html! {
        details {
            summary { "The same as text" }
            pre { (report::plain_lines(&start)) }
            @if characters.next().is_some() { p { "Left out: the rest of the text." } }
        }
    }
}
