//! The vocabulary of experiment files as Markdown, from the tables that the parser uses.

use std::fmt::Write;

use super::command::{DIRECTIONS, NUMBER_PLACES};
use super::experiment::{ENGINES, MECHANISMS};
use super::keys::{KEYS, Table};
use super::load::{STEALINGS, STREAMS, WORKS};
use super::place::{CPU_PAIRS, PLACES};
use super::quantity::QUANTITIES;
use super::sga::{ALLOCATIONS, BACKINGS};
use super::vocabulary::Word;

/// Returns the reference part of docs/experiments.md. A test compares it with the file.
pub fn reference() -> String {
    let mut text = String::from("### Keys\n\n| table | key | default | meaning |\n");
    text.push_str("| --- | --- | --- | --- |\n");
    for table in Table::ALL {
        for key in KEYS.iter().filter(|key| key.table == table) {
            let default = match key.default {
                Some(default) => format!("`{default}`"),
                None => "required".to_owned(),
            };
            let table = match table {
                Table::Top => "top".to_owned(),
                _ => format!("`{}`", table.name()),
            };
            row(
                &mut text,
                &[&table, &format!("`{}`", key.name), &default, key.about],
            );
        }
    }
    words(&mut text, "Engines", ENGINES);
    words(&mut text, "Places", PLACES);
    words(&mut text, "Pairs of CPUs", CPU_PAIRS);
    words(&mut text, "Quantities", QUANTITIES);
    words(&mut text, "Works", &WORKS);
    words(&mut text, "Kernels of a stream", &STREAMS);
    text.push_str("\n### Numbers\n\n| word | meaning |\n| --- | --- |\n");
    for (word, meaning) in NUMBER_PLACES {
        row(&mut text, &[&format!("`{word}`"), meaning]);
    }
    words(&mut text, "Better", DIRECTIONS);
    words(&mut text, "Stealing", STEALINGS);
    words(&mut text, "Mechanisms", MECHANISMS);
    words(&mut text, "Backings", BACKINGS);
    words(&mut text, "Allocations", ALLOCATIONS);
    text
}

fn words<T>(text: &mut String, heading: &str, words: &[Word<T>]) {
    let _ = write!(
        text,
        "\n### {heading}\n\n| word | meaning |\n| --- | --- |\n"
    );
    for word in words {
        row(text, &[&format!("`{}`", word.name), word.about]);
    }
}

fn row(text: &mut String, cells: &[&str]) {
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

#[cfg(test)]
mod tests {
    use testing::Page;

    use super::*;
    use crate::{Definition, SHIPPED};

    const PAGE: &str = "docs/experiments.md";

    #[test]
    fn the_page_holds_the_tables_that_reading_uses() {
        Page::read(PAGE).check_text(&reference());
    }

    #[test]
    fn the_page_has_a_row_for_every_shipped_experiment() {
        let names = SHIPPED.iter().map(|shipped| shipped.name);
        Page::read(PAGE).check_names("| experiment | what it asks |", names);
    }

    #[test]
    fn the_example_of_the_page_can_be_read() {
        let page = Page::read(PAGE);
        let example = page.text().split("```toml\n").nth(1).unwrap();
        let example = example.split("```").next().unwrap();
        let definition = Definition::parse("example", example).unwrap();
        assert_eq!(definition.cases.len(), 2);
    }
}
