//! Parses one case: each key from the case itself, or from the table that holds its default.

use std::collections::BTreeMap;

use model::{Backing, counted};

use super::command::{
    CommandChoice, DIRECTIONS, LINE_EXPECTED, NUMBER_EXPECTED, UNIT_CHARS_MAX,
    parse_line_expression, parse_number_place,
};
use super::cost_table::{COST_EXPECTED, CostTable};
use super::experiment::{CaseDefinition, MECHANISMS, MechanismChoice};
use super::file::{Field, Section};
use super::keys::{Table, default_of};
use super::load::{
    CACHED, CALIBRATED, DataSize, KernelChoice, STEALINGS, STREAMS, WORKS, WorkChoice, WorkUnit,
};
use super::place::{CpuChoice, MemoryChoice, nearest_place};
use super::quantity::Quantity;
use super::read_value::{OFF, cpu_count, line, name, quantity};
use super::server_settings::{SETTINGS_EXPECTED, parse_settings};
use super::sga::{AllocationChoice, BACKINGS, BEYOND_CACHES, CacheSize, PageSize};
use super::vocabulary::{Word, names, nearest, value_of};
use crate::Error;

/// Maximum length of a program with its arguments, in characters.
const COMMAND_CHARS_MAX: usize = 4000;

/// Returns whether a text fits on one line and has no control characters.
fn is_line(text: &str, chars_max: usize) -> bool {
    text.chars().count() <= chars_max && !text.chars().any(char::is_control)
}

/// A case, and the tables that hold its defaults.
#[derive(Clone, Copy)]
pub(super) struct CaseSections<'t> {
    pub case: Section<'t>,
    pub placement: Section<'t>,
    pub sga: Section<'t>,
    pub load: Section<'t>,
}

impl<'t> CaseSections<'t> {
    /// Returns the field of a key, from the case or from the table of its default.
    fn get(&self, table: Table, key: &'static str) -> Option<Field<'t>> {
        let defaults = match table {
            Table::Placement => self.placement,
            Table::Sga => self.sga,
            _ => self.load,
        };
        self.case.get(key).or_else(|| defaults.get(key))
    }

    /// Returns the value of a key with text values; a built-in default is parsed like any other
    /// text.
    fn value<T>(
        &self,
        table: Table,
        key: &'static str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
        nearest: impl FnOnce(&str) -> Option<String>,
    ) -> Result<T, Error> {
        match self.get(table, key) {
            Some(field) => field.parsed(expected, parse, nearest),
            None => Ok(parse(default_of(table, key)).expect("a test reads every default")),
        }
    }

    /// Returns the value of a key whose values are the words of a table.
    fn word<T: Copy>(
        &self,
        table: Table,
        key: &'static str,
        words: &[Word<T>],
    ) -> Result<T, Error> {
        self.value(
            table,
            key,
            &format!("one of {}", names(words)),
            |text| value_of(words, text),
            |text| nearest(text, words.iter().map(|word| word.name)).map(str::to_owned),
        )
    }

    fn command(&self) -> Result<CommandChoice, Error> {
        let text = |key, expected: &str, chars_max| {
            let parse = |text: &str| is_line(text, chars_max).then(|| text.to_owned());
            self.value(Table::Load, key, expected, parse, |_| None)
        };
        Ok(CommandChoice {
            command: text("command", "a shell command of one line", COMMAND_CHARS_MAX)?,
            number: self.value(
                Table::Load,
                "number",
                NUMBER_EXPECTED,
                parse_number_place,
                |text| nearest(text, ["last"]).map(str::to_owned),
            )?,
            unit: text("unit", "a unit of at most 24 characters", UNIT_CHARS_MAX)?,
            more_is_better: self.word(Table::Load, "better", DIRECTIONS)?,
            begin: self.line_expression("begin")?,
            end: self.line_expression("end")?,
            server: text("server", "a shell command of one line", COMMAND_CHARS_MAX)?,
            ready: text("ready", "a shell command of one line", COMMAND_CHARS_MAX)?,
            client_cpus: self.value(
                Table::Load,
                "client-cpus",
                &CpuChoice::expected(),
                CpuChoice::parse,
                CpuChoice::nearest,
            )?,
        })
    }

    fn line_expression(&self, key: &'static str) -> Result<String, Error> {
        let none = |_: &str| None;
        self.value(Table::Load, key, LINE_EXPECTED, parse_line_expression, none)
    }

    fn sessions(&self, work: WorkChoice) -> Result<Quantity, Error> {
        match self.get(Table::Load, "sessions") {
            Some(field) => quantity(field),
            // An external program and a measuring kernel have no sessions.
            None if matches!(work, WorkChoice::Command | WorkChoice::Kernel(_)) => {
                Ok(Quantity::Number(1))
            }
            None => {
                let expected = format!("{}, here or in [load]", Quantity::expected());
                let start = self.case.start();
                Err(self
                    .case
                    .error(start, "sessions", &expected, "nothing".to_owned(), None))
            }
        }
    }

    /// Parses the work, and the kernel that a stream runs.
    fn work(&self) -> Result<WorkChoice, Error> {
        let kernel = self.word(Table::Load, "kernel", &STREAMS)?;
        Ok(match self.word(Table::Load, "work", &WORKS)? {
            WorkChoice::Kernel(KernelChoice::Stream(_)) => {
                WorkChoice::Kernel(KernelChoice::Stream(kernel))
            }
            work => work,
        })
    }

    fn cpu_count(&self, sessions: Quantity) -> Result<Option<Quantity>, Error> {
        let Some(field) = self.get(Table::Load, "cpu-count") else {
            return Ok(None);
        };
        match (cpu_count(field)?, sessions) {
            (Some(Quantity::Number(count)), Quantity::Number(sessions)) if count >= sessions => {
                Err(field.wrong(&format!(
                    "fewer than the {} (otherwise caging has no effect), or \
                     {OFF:?}",
                    counted(sessions, "session")
                )))
            }
            (cpu_count, _) => Ok(cpu_count),
        }
    }

    fn cpus(&self) -> Result<CpuChoice, Error> {
        self.value(
            Table::Placement,
            "cpus",
            &CpuChoice::expected(),
            CpuChoice::parse,
            CpuChoice::nearest,
        )
    }

    fn prewarm_cpus(&self) -> Result<CpuChoice, Error> {
        self.value(
            Table::Sga,
            "prewarm-cpus",
            &CpuChoice::expected(),
            CpuChoice::parse,
            CpuChoice::nearest,
        )
    }

    fn server_settings(&self) -> Result<BTreeMap<String, String>, Error> {
        let key = "server-settings";
        self.value(Table::Sga, key, SETTINGS_EXPECTED, parse_settings, |_| None)
    }

    fn cpu_quota(&self) -> Result<Option<Quantity>, Error> {
        let field = self.get(Table::Placement, "cpu-quota");
        field.map_or(Ok(None), cpu_count)
    }

    fn memory_nodes(&self) -> Result<MemoryChoice, Error> {
        self.value(
            Table::Placement,
            "memory-nodes",
            &MemoryChoice::expected(),
            MemoryChoice::parse,
            |text| nearest_place(text).map(str::to_owned),
        )
    }

    fn mechanism(&self) -> Result<MechanismChoice, Error> {
        self.word(Table::Placement, "mechanism", MECHANISMS)
    }

    fn cache(&self) -> Result<CacheSize, Error> {
        self.size(Table::Sga, "cache")
    }

    /// Parses a memory size.
    fn size(&self, table: Table, key: &'static str) -> Result<CacheSize, Error> {
        self.value(
            table,
            key,
            &CacheSize::expected(),
            CacheSize::parse,
            |text| nearest(text, [BEYOND_CACHES]).map(str::to_owned),
        )
    }

    fn data(&self) -> Result<DataSize, Error> {
        self.value(
            Table::Load,
            "data",
            &DataSize::expected(),
            DataSize::parse,
            |text| nearest(text, [CACHED]).map(str::to_owned),
        )
    }

    fn update_pct(&self) -> Result<u32, Error> {
        let Some(field) = self.get(Table::Load, "update-pct") else {
            return Ok(0);
        };
        let number = field.number().filter(|number| *number <= 100);
        number.ok_or_else(|| field.wrong("a whole number from 0 to 100"))
    }

    fn handicap(&self) -> Result<u32, Error> {
        self.value(
            Table::Load,
            "handicap",
            "a share from 0 % to 100 %, such as \"3 %\"",
            parse_handicap,
            |_| None,
        )
    }

    fn emulated_cost(&self) -> Result<Option<CostTable>, Error> {
        self.value(
            Table::Load,
            "emulated-cost",
            COST_EXPECTED,
            CostTable::parse,
            |_| None,
        )
    }

    fn backing(&self) -> Result<Backing, Error> {
        self.word(Table::Sga, "backing", BACKINGS)
    }

    fn page_size(&self) -> Result<PageSize, Error> {
        let expected = PageSize::EXPECTED;
        self.value(Table::Sga, "page-size", expected, PageSize::parse, |text| {
            nearest(text, [PageSize::BASE]).map(str::to_owned)
        })
    }

    fn work_unit(&self) -> Result<WorkUnit, Error> {
        let Some(field) = self.get(Table::Load, "work-unit") else {
            return Ok(WorkUnit::Calibrated);
        };
        if let Some(rows) = field.number().and_then(WorkUnit::of_number) {
            return Ok(rows);
        }
        field.parsed(
            &WorkUnit::expected(),
            |text| (text == CALIBRATED).then_some(WorkUnit::Calibrated),
            |text| nearest(text, [CALIBRATED]).map(str::to_owned),
        )
    }

    /// Parses the nodes on which memory lies.
    fn allocation(&self, table: Table, key: &'static str) -> Result<AllocationChoice, Error> {
        self.value(
            table,
            key,
            &AllocationChoice::expected(),
            AllocationChoice::parse,
            AllocationChoice::nearest,
        )
    }

    /// Parses the case.
    pub(super) fn read(&self) -> Result<CaseDefinition, Error> {
        let work = self.work()?;
        let sessions = self.sessions(work)?;
        Ok(CaseDefinition {
            name: name(self.case)?,
            about: line(self.case, "about")?,
            cpus: self.cpus()?,
            memory_nodes: self.memory_nodes()?,
            mechanism: self.mechanism()?,
            cpu_quota: self.cpu_quota()?,
            prewarm_cpus: self.prewarm_cpus()?,
            moved_to: self.allocation(Table::Sga, "moved-to")?,
            server_settings: self.server_settings()?,
            cache: self.cache()?,
            backing: self.backing()?,
            page_size: self.page_size()?,
            allocation: self.allocation(Table::Sga, "allocation")?,
            sessions,
            cpu_count: self.cpu_count(sessions)?,
            data: self.data()?,
            update_pct: self.update_pct()?,
            handicap: self.handicap()?,
            emulated_cost: self.emulated_cost()?,
            work,
            command: self.command()?,
            work_unit: self.work_unit()?,
            own_memory: self.size(Table::Load, "own-memory")?,
            own_allocation: self.allocation(Table::Load, "own-allocation")?,
            stealing: self.word(Table::Load, "stealing", STEALINGS)?,
        })
    }

    /// Parses every value and discards it, to report errors.
    pub(super) fn check_values(&self) -> Result<(), Error> {
        self.cpus()?;
        self.memory_nodes()?;
        self.mechanism()?;
        self.cpu_quota()?;
        self.prewarm_cpus()?;
        self.allocation(Table::Sga, "moved-to")?;
        self.server_settings()?;
        self.cache()?;
        self.backing()?;
        self.page_size()?;
        self.allocation(Table::Sga, "allocation")?;
        self.data()?;
        self.update_pct()?;
        self.handicap()?;
        self.emulated_cost()?;
        self.work()?;
        self.command()?;
        self.work_unit()?;
        self.size(Table::Load, "own-memory")?;
        self.allocation(Table::Load, "own-allocation")?;
        self.word(Table::Load, "stealing", STEALINGS)?;
        if let Some(field) = self.get(Table::Load, "sessions") {
            quantity(field)?;
        }
        if let Some(field) = self.get(Table::Load, "cpu-count") {
            cpu_count(field)?;
        }
        Ok(())
    }
}

/// Parses a percentage such as `3 %` or `2.5%` into hundredths of a percent.
fn parse_handicap(text: &str) -> Option<u32> {
    let share: f64 = text.strip_suffix('%')?.trim().parse().ok()?;
    (0.0..=100.0)
        .contains(&share)
        .then_some((share * 100.0).round() as u32)
}
