//! Parses a definition from the text of an experiment file: the top level and the list of cases.
//!
//! `read_case` parses a case, `read_value` parses single values, and each type parses its own
//! words.

use std::collections::BTreeSet;

use super::experiment::{CaseDefinition, Definition, ENGINES, Engine, Needs};
use super::file::{Section, Source};
use super::keys::Table;
use super::read_case::CaseSections;
use super::read_value::{line, name};
use super::vocabulary::{names, nearest, value_of};
use crate::Error;
use crate::error::quoted;

/// The format that this version reads.
pub(crate) const FORMAT: &str = "numalab.experiment/1";
/// Maximum number of cases of an experiment.
const CASES_MAX: usize = 64;

impl Definition {
    /// Parses a definition. `file` is the name that messages use for the text.
    pub fn parse(file: &str, text: &str) -> Result<Definition, Error> {
        let source = Source { file, text };
        let entries = source.parse()?;
        let top = Section::top(source, &entries)?;
        check_format(top)?;
        let cases = cases(top)?;
        Ok(Definition {
            name: name(top)?,
            question: line(top, "question")?,
            baseline: baseline(top, &cases)?,
            asks_about_memory: top
                .require("asks-about-memory", "true or false")?
                .boolean()?,
            engine: engine(top)?,
            needs: needs(top.section("needs", Table::Needs)?)?,
            cases,
            text: text.to_owned(),
        })
    }
}

fn check_format(top: Section<'_>) -> Result<(), Error> {
    let expected = format!("{FORMAT:?}");
    let field = top.require("format", &expected)?;
    if field.text(&expected)? == FORMAT {
        Ok(())
    } else {
        Err(field.wrong(&expected))
    }
}

fn baseline(top: Section<'_>, cases: &[CaseDefinition]) -> Result<String, Error> {
    let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    let expected = format!("the name of a case: {}", names.join(", "));
    let field = top.require("baseline", &expected)?;
    let name = field.text(&expected)?;
    if names.contains(&name) {
        Ok(name.to_owned())
    } else {
        Err(field.wrong_but(&expected, nearest(name, names).map(str::to_owned)))
    }
}

fn engine(top: Section<'_>) -> Result<Engine, Error> {
    let Some(field) = top.get("engine") else {
        return Ok(Engine::Instance);
    };
    let words = ENGINES.iter().map(|word| word.name);
    field.parsed(
        &format!("one of {}", names(ENGINES)),
        |text| value_of(ENGINES, text),
        |text| nearest(text, words).map(str::to_owned),
    )
}

fn needs(needs: Section<'_>) -> Result<Needs, Error> {
    let number = |key| match needs.get(key) {
        Some(field) => field
            .number()
            .filter(|number| *number >= 1)
            .ok_or_else(|| field.wrong("a whole number of at least 1")),
        None => Ok(1),
    };
    Ok(Needs {
        cpus: number("cpus")?,
        memory_nodes: number("memory-nodes")?,
    })
}

fn cases(top: Section<'_>) -> Result<Vec<CaseDefinition>, Error> {
    let defaults = CaseSections {
        case: top.without_entries(Table::Case),
        placement: top.section("placement", Table::Placement)?,
        sga: top.section("sga", Table::Sga)?,
        load: top.section("load", Table::Load)?,
    };
    // Cases check the defaults that they use; this checks those that no case uses.
    defaults.check_values()?;
    let expected = format!("1 to {CASES_MAX} tables [[case]]");
    let field = top.require("case", &expected)?;
    let sections = field.sections(Table::Case)?;
    if sections.is_empty() || sections.len() > CASES_MAX {
        return Err(field.wrong(&expected));
    }
    let mut cases = Vec::new();
    let mut names = BTreeSet::new();
    for case in sections {
        let definition = CaseSections { case, ..defaults }.read()?;
        if !names.insert(definition.name.clone()) {
            let found = format!("{} twice", quoted(&definition.name));
            let expected = "a unique name for each case";
            return Err(case.error(case.start(), "name", expected, found, None));
        }
        cases.push(definition);
    }
    Ok(cases)
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
