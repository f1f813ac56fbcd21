//! Text in pictures (SVG 1.1).

/// Adds a text; `style` are more attributes.
pub(crate) fn push_text(svg: &mut String, x: usize, y: usize, style: &str, text: &str) {
    let space = if style.is_empty() { "" } else { " " };
    let text = escaped(text);
    svg.push_str(&format!(
        "<text x=\"{x}\" y=\"{y}\"{space}{style}>{text}</text>\n"
    ));
}

/// Adds a text centred at a point.
pub(crate) fn push_centred(svg: &mut String, x: usize, y: usize, ink: &str, text: &str) {
    let style = format!("text-anchor=\"middle\" fill=\"{ink}\"");
    push_text(svg, x, y, &style, text);
}

/// Escapes text between tags (XML 1.0, 2.4).
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
