//! What is around the content of a document's page: head, colours, heading.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::pictures::{HOVER_SCRIPT, HOVER_STYLE, MOVE_SCRIPT, PALETTE, PICTURE_STYLE};

/// The look of text and tables.
const STYLE: &str = "\
@media (prefers-color-scheme:dark){.sheet svg{filter:invert(1) hue-rotate(180deg)}}\
@media print{.sheet svg{filter:none}button,.slider{display:none}\
details::details-content{content-visibility:visible;block-size:auto}}\
*{box-sizing:border-box}\
body{margin:0 auto;max-width:76rem;padding:1rem;background:var(--paper);color:var(--ink);\
font:16px/1.45 system-ui,sans-serif;overflow-wrap:anywhere}\
h1{font-size:1.5rem;margin:.2rem 0}h2{font-size:1.2rem;margin:1.6rem 0 .4rem}\
h3{font-size:1rem;margin:1rem 0 .2rem}p{margin:.4rem 0}.lead{font-size:1.1rem}\
.muted{color:var(--muted)}.warning{border-left:4px solid var(--care);padding-left:.7rem}\
figure{margin:.6rem 0}figcaption{margin-bottom:.4rem}\
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9rem;margin:.5rem 0}\
caption{text-align:left;font-weight:600;padding:.3rem 0}\
th,td{padding:.2rem .6rem;border-bottom:1px solid var(--grid);text-align:left;vertical-align:top;\
overflow-wrap:normal}\
td.number{text-align:right;white-space:nowrap}\
pre{overflow-x:auto;padding:.6rem;border:1px solid var(--grid);font-size:.85rem}\
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem .8rem;margin:.3rem 0}\
dt{color:var(--muted)}dd{margin:0}\
.severity{font-weight:600}.severity.warning{border:0;padding:0;color:var(--care)}\
.severity.error{color:var(--bad)}\
summary{cursor:pointer;margin:.4rem 0}";

/// Returns the whole page.
pub(crate) fn framed(title: &str, format: &str, content: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                title { (title) " – numalab" }
                style { (PreEscaped(PALETTE)) (PreEscaped(STYLE)) (PreEscaped(PICTURE_STYLE))
                    (PreEscaped(HOVER_STYLE)) }
            }
            body {
                header { h1 { (title) } p.muted { "numalab, document " (format) } }
                main { (content) }
                script { (PreEscaped(MOVE_SCRIPT)) (PreEscaped(HOVER_SCRIPT)) }
            }
        }
    };
    page.into_string()
}
