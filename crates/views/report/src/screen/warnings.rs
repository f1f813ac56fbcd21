//! Warnings and notes, each shown once: equal words for several cases share a line.

use model::{Run, Trial, counted};
use verdict::Judgement;

use crate::form::style::{Style, TextOptions, lines};
use crate::verdict_words::warnings::run_warnings;

/// Warnings and notes with their number of occurrences.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    said: Vec<Said>,
}

#[derive(Debug)]
struct Said {
    label: &'static str,
    /// The words without figures: texts that differ only in figures are shown once.
    words: String,
    text: String,
    times: usize,
    trials: usize,
}

impl Warnings {
    /// Adds the warnings of a run: from its judgement and from its trials.
    pub(crate) fn add_of(&mut self, run: &Run, judgement: &Judgement) {
        for warning in &run_warnings(run, judgement) {
            self.add(warning);
        }
        let trials = run.cases.iter().flat_map(|case| &case.trials);
        for trial in trials.filter(|trial| trial.valid_value().is_some()) {
            self.add_of_trial(trial);
        }
    }

    fn add_of_trial(&mut self, trial: &Trial) {
        for warning in &trial.warnings {
            self.say("warning: ", warning).trials += 1;
        }
    }

    /// Adds a warning.
    pub(crate) fn add(&mut self, text: &str) {
        self.say("warning: ", text);
    }

    /// Adds a note.
    pub(crate) fn add_note(&mut self, text: &str) {
        self.say("note:    ", text);
    }

    fn say(&mut self, label: &'static str, text: &str) -> &mut Said {
        let is_figure = |character: char| character.is_ascii_digit() || ".,".contains(character);
        let words: String = text.chars().filter(|it| !is_figure(*it)).collect();
        let known = self.said.iter().position(|said| said.words == words);
        let index = known.unwrap_or_else(|| {
            self.said.push(Said {
                label,
                words,
                text: text.to_owned(),
                times: 0,
                trials: 0,
            });
            self.said.len() - 1
        });
        self.said[index].times += 1;
        &mut self.said[index]
    }
}

/// Returns at most `count` warnings in at most `most` lines, starting with an empty one; the rest
/// are counted.
pub(crate) fn warning_lines(
    warnings: &Warnings,
    options: &TextOptions,
    count: usize,
    most: usize,
) -> Vec<String> {
    let mut shown: Vec<String> = Vec::new();
    let said = &warnings.said;
    for (index, it) in said.iter().enumerate() {
        let text = match it.trials {
            0 => it.text.clone(),
            1 => format!("{} (1 trial)", it.text),
            trials => format!("{} ({})", it.text, counted(trials, "trial")),
        };
        let text = lines(options, it.label, &text, Style::Care, usize::MAX);
        let is_last = index + 1 == said.len();
        // Reserve an empty line before, and one for the count of the rest.
        let room = most.saturating_sub(shown.len() + 1 + usize::from(!is_last));
        if index >= count || text.len() > room {
            if most > shown.len() + 1 {
                let hidden = said.len() - index;
                shown.push(format!("and {hidden} more: --full"));
            }
            break;
        }
        shown.extend(text);
    }
    if !shown.is_empty() {
        shown.insert(0, String::new());
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_words_are_one_line_and_more_are_counted() {
        let mut warnings = Warnings::default();
        for moved in ["7.5", "9"] {
            let text = format!("the rate still moved by {moved} % at the end");
            warnings.say("warning: ", &text).trials += 1;
        }
        let shown =
            |warnings: &Warnings, most| warning_lines(warnings, &TextOptions::default(), 3, most);
        let expected = "warning: the rate still moved by 7.5 % at the end (2 trials)";
        assert_eq!(shown(&warnings, 9), ["", expected]);
        for text in ["one", "two", "three"] {
            warnings.add(text);
        }
        let expected = [
            "",
            expected,
            "warning: one",
            "warning: two",
            "and 1 more: --full",
        ];
        assert_eq!(shown(&warnings, 9), expected);
        assert_eq!(shown(&warnings, 3), ["", expected[1], "and 3 more: --full"]);
        assert!(shown(&warnings, 1).is_empty());
        assert!(shown(&warnings, 0).is_empty());
    }
}
