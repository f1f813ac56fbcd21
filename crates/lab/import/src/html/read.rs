//! Reads a page: it becomes lines as a browser shows them. Each block of text is a line, and so is
//! each row of a table.
//!
//! ```text
//! <h1 class="awr">WORKLOAD REPOSITORY report for</h1>
//! <table border="0" summary="This table displays host information">
//! <tr><th class="awrbg">Host Name</th><th class="awrbg">CPUs</th></tr>
//! <tr><td class='awrnc'>dbserver</td><td align="right" class='awrnc'> 160</td></tr>
//! ```

use html5gum::{DefaultEmitter, Span, Token, Tokenizer};
use linux::{Error, TextFile};

use super::page::Page;
use super::table::Lines;

/// Whether a file is HTML: it begins with a tag, or `<html` begins one of its first lines, as where
/// SQL*Plus printed something before it.
pub(crate) fn is_html(file: &TextFile) -> bool {
    const LINES_MAX: usize = 100;
    let mut lines = file
        .lines()
        .map(|(_, line)| line.trim_start_matches(is_gap))
        .filter(|line| !line.is_empty())
        .take(LINES_MAX)
        .enumerate();
    lines.any(|(index, line)| match index {
        0 => line.starts_with('<'),
        _ => line
            .get(..5)
            .is_some_and(|it| it.eq_ignore_ascii_case("<html")),
    })
}

/// White space, or a byte order mark.
fn is_gap(letter: char) -> bool {
    letter.is_whitespace() || letter == '\u{feff}'
}

/// Reads HTML as lines.
///
/// # Errors
/// When it has no table, ends before its end, or has two different tables of which a report has
/// one.
pub(crate) fn lines_of(file: &TextFile) -> Result<Lines, Error> {
    let mut page = Page::new(file);
    let mut emitter = DefaultEmitter::<usize>::new_with_span();
    emitter.naively_switch_states(true);
    let (mut line, mut at) = (1, 0);
    for token in Tokenizer::new_with_emitter(file.text(), emitter) {
        let Ok(token) = token;
        let span = span(&token);
        let passed = file.text().as_bytes().get(at..span.start).unwrap_or(&[]);
        line += passed.iter().filter(|byte| **byte == b'\n').count();
        at = at.max(span.start);
        match token {
            Token::StartTag(tag) => page.begin(line, &tag)?,
            Token::EndTag(tag) => page.end(line, &String::from_utf8_lossy(&tag.name))?,
            Token::String(text) => page.text(line, &String::from_utf8_lossy(&text)),
            Token::Error(error) => {
                if let Some(what) = unfinished(error.value) {
                    return Err(file.ended(format!("the end of an HTML {what}")));
                }
            }
            Token::Comment(_) | Token::Doctype(_) => {}
        }
    }
    page.finish()
}

fn span(token: &Token<usize>) -> Span<usize> {
    match token {
        Token::StartTag(tag) => tag.span,
        Token::EndTag(tag) => tag.span,
        Token::String(text) | Token::Comment(text) => text.span,
        Token::Doctype(doctype) => doctype.span,
        Token::Error(error) => error.span,
    }
}

/// What the file ended in.
fn unfinished(error: html5gum::Error) -> Option<&'static str> {
    match error {
        html5gum::Error::EofInTag => Some("tag"),
        html5gum::Error::EofInComment => Some("comment"),
        html5gum::Error::EofInScriptHtmlCommentLikeText => Some("script"),
        _ => None,
    }
}
