//! What a command of numalab said, below the command itself.

use ratatui::text::Line;

use crate::actions::Answer;
use crate::visible::cut;

/// Returns the lines of the screen; the caller shows those from the scrolled one on.
pub(crate) fn lines(answer: &Answer, width: usize) -> Vec<Line<'static>> {
    let command = format!("$ {}", answer.command);
    let waiting = ["running; Esc goes back".to_owned()];
    let said = answer.lines.as_deref().unwrap_or(&waiting);
    let lines = [command, String::new()];
    let lines = lines.iter().chain(said);
    lines.map(|line| Line::from(cut(line, width))).collect()
}
