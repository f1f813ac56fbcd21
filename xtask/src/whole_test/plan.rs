//! Which steps and which tests run, and where.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};

use super::changed::Changed;
use super::program::Test;
use super::step::{PACKAGES, STEPS, Step, When};
use super::table::{BOOTS, Boot, HOST, LONG, Long, SLOW};
use super::turn;
use crate::arguments::TestArguments;

/// The names of what `--only` selects besides the steps.
const TESTS: &str = "tests";
const GUEST: &str = "guest";
const LONG_TESTS: &str = "long";

/// What is meant by `cargo xtask check` or `cargo xtask test`.
pub(crate) struct Scope {
    /// The steps before the tests.
    pub steps: Vec<&'static Step>,
    /// Whether tests run on this machine.
    pub host: bool,
    /// The guests that may boot.
    pub boots: Vec<&'static Boot>,
    /// The long tests whose turn it is.
    long: Vec<&'static Long>,
    /// Whether long tests alone run.
    only_long: bool,
    /// Whether slow tests are left out.
    is_check: bool,
    /// Whether `--only` left something out.
    is_narrowed: bool,
    /// What changed, if only tests about that are meant.
    changed: Option<Changed>,
    /// What the names of tests contain.
    name: Option<String>,
}

/// Returns the steps that run at these times.
fn steps_of(when: &[When]) -> Vec<&'static Step> {
    let is_meant = |step: &&Step| when.contains(&step.when);
    STEPS.iter().filter(is_meant).collect()
}

impl Scope {
    /// `cargo xtask check`, or with the changes those that they concern.
    pub(crate) fn check(changed: Option<Changed>) -> Self {
        let boots = match changed {
            Some(_) => BOOTS.iter().collect(),
            None => Vec::new(),
        };
        Self {
            steps: steps_of(&[When::EachCommit]),
            host: true,
            boots,
            long: Vec::new(),
            only_long: false,
            is_check: true,
            is_narrowed: false,
            changed,
            name: None,
        }
    }

    /// `cargo xtask test` with its options.
    pub(crate) fn test(arguments: &TestArguments) -> Result<Self> {
        let mut scope = Self {
            steps: steps_of(&[When::EachCommit, When::WholeTest]),
            host: true,
            boots: BOOTS.iter().collect(),
            long: turn::todays(LONG)?,
            only_long: false,
            is_check: false,
            is_narrowed: arguments.only.is_some(),
            changed: None,
            name: arguments.test.clone(),
        };
        if let Some(only) = &arguments.only {
            scope.narrow(only)?;
        }
        if arguments.no_guest {
            scope.boots.clear();
        }
        Ok(scope)
    }

    /// Leaves what `--only` names.
    fn narrow(&mut self, only: &str) -> Result<()> {
        let (kind, place) = only.split_once(':').unwrap_or((only, ""));
        self.boots
            .retain(|it| place.is_empty() || it.name() == place);
        let has_place = !self.boots.is_empty() || place == HOST;
        self.steps = STEPS.iter().filter(|step| step.name == only).collect();
        match kind {
            TESTS if place.is_empty() => self.boots.clear(),
            GUEST if has_place => {
                self.host = false;
                // Whoever names a guest means all of its tests.
                let is_meant = |one: &&Long| one.place == place;
                self.long.extend(LONG.iter().filter(is_meant));
            }
            LONG_TESTS if has_place => {
                self.host = ["", HOST].contains(&place);
                self.only_long = true;
                let is_meant = |one: &&Long| place.is_empty() || one.place == place;
                self.long = LONG.iter().filter(is_meant).collect();
            }
            _ if !self.steps.is_empty() => {
                self.host = false;
                self.boots.clear();
                return Ok(());
            }
            _ => bail!("there is nothing named '{only}'; `--list` shows the names"),
        }
        self.steps = STEPS.iter().filter(|step| step.name == PACKAGES).collect();
        if only == LONG_TESTS {
            self.steps.extend(steps_of(&[When::Long]));
        }
        Ok(())
    }

    /// Whether tests run anywhere.
    pub(crate) fn has_tests(&self) -> bool {
        self.host || !self.boots.is_empty()
    }

    /// Returns the tests that run on this machine: slow ones first, so that none of them is the
    /// last.
    pub(crate) fn on_host<'t>(&self, tests: &'t [Test]) -> Vec<&'t Test> {
        if !self.host {
            return Vec::new();
        }
        let is_meant = |test: &&Test| {
            let is_of_binary = test.program.is_of_binary();
            let is_left_out =
                (is_of_binary && is_of_guests(&test.name)) || (self.is_check && is_slow(test));
            !is_left_out && self.is_turn(HOST, is_of_binary, &test.name) && self.is_named(test)
        };
        let mut meant: Vec<_> = tests.iter().filter(is_meant).collect();
        meant.sort_by_key(|test| (!is_slow(test), !test.program.is_of_binary()));
        meant
    }

    /// Returns the tests that run in a guest.
    pub(crate) fn in_guest<'t>(&self, boot: &Boot, tests: &'t [Test]) -> Vec<&'t Test> {
        let is_meant = |test: &&Test| {
            test.program.is_of_binary()
                && boot.has(&test.name)
                && self.is_turn(&boot.name(), true, &test.name)
                && self.is_named(test)
        };
        tests.iter().filter(is_meant).collect()
    }

    /// Whether a test is no long one, or it is its turn.
    fn is_turn(&self, place: &str, is_of_binary: bool, test: &str) -> bool {
        let is_it = |one: &&Long| is_of_binary && one.place == place && test.starts_with(one.test);
        // Of two rows, the one that says more: it is a part of the other.
        match LONG.iter().filter(is_it).max_by_key(|one| one.test.len()) {
            // Whoever names a test means it.
            Some(row) => self.name.is_some() || self.long.contains(&row),
            None => !self.only_long,
        }
    }

    fn is_named(&self, test: &Test) -> bool {
        let by_name = self.name.as_ref();
        by_name.is_none_or(|name| test.title().contains(name.as_str()))
            && self.changed.as_ref().is_none_or(|it| it.concerns(test))
    }

    /// Says which long tests wait for another day.
    pub(crate) fn other_turns(&self) -> Option<String> {
        let waiting = LONG.len() - self.long.len();
        let today = self.long.iter();
        let today = today.map(|one| format!("{} {}", one.place, one.test));
        let today: Vec<_> = today.collect();
        (!self.is_narrowed && !self.is_check && waiting > 0).then(|| {
            format!(
                "of {} long tests, today's turn is {}; `cargo xtask test --only long` runs all",
                LONG.len(),
                today.join(", ")
            )
        })
    }
}

/// Whether a test of the binary runs in guests only. (Those of the helpers in the same folder run
/// here.)
fn is_of_guests(test: &str) -> bool {
    test.starts_with("guests::") && BOOTS.iter().any(|boot| boot.has(test))
}

fn is_slow(test: &Test) -> bool {
    SLOW.iter().any(|start| test.title().starts_with(start))
}

/// Fails if a row of a table names no test. (A test for guests that is in none of them runs here,
/// where it says so, and is counted as skipped.)
pub(crate) fn check_tables(tests: &[Test]) -> Result<()> {
    let titles: BTreeSet<_> = tests.iter().map(Test::title).collect();
    let of_binary = |start: &str| format!("numalab {start}");
    let in_guests = BOOTS.iter().flat_map(|boot| boot.tests);
    let long = LONG.iter().map(|one| one.test);
    let named = in_guests.copied().chain(long).map(of_binary);
    for start in named.chain(SLOW.iter().map(|start| (*start).to_owned())) {
        if !titles.iter().any(|title| title.starts_with(&start)) {
            bail!("whole_test/table.rs names '{start}', and no test begins so");
        }
    }
    for one in LONG.iter().filter(|one| one.place != HOST) {
        let boot = BOOTS.iter().find(|boot| boot.name() == one.place);
        let boot = boot.with_context(|| format!("{}: no such guest", one.place))?;
        let is_its = |test: &&Test| test.name.starts_with(one.test) && boot.has(&test.name);
        if !tests.iter().any(|test| is_its(&test)) {
            bail!("{} does not run its long test '{}'", one.place, one.test);
        }
    }
    Ok(())
}
