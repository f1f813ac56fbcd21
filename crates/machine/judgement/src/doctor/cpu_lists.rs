//! The CPU lists of Valkey and Redis: which of its threads and children each one is for, and what
//! it says.

use model::{CpuId, CpuSet, ServerSettings};

use super::threads::RoleMask;

/// The settings with a CPU list, and the roles of the threads that follow it
/// (docs/threads.md); a child that saves or rewrites has no thread while there is none.
pub(crate) const LISTS: [(&str, &[&str]); 4] = [
    ("server-cpulist", &["main (runs commands)", "I/O thread"]),
    ("bio-cpulist", &["background job"]),
    ("aof-rewrite-cpulist", &[]),
    ("bgsave-cpulist", &[]),
];
/// Longer ranges are a mistake: no kernel has more CPUs (`CONFIG_NR_CPUS`).
const CPUS_MAX: u32 = 1 << 16;

/// Returns the lists that a server was given, in the order of the table.
pub(crate) fn lists(settings: &ServerSettings) -> Vec<(&'static str, CpuSet)> {
    let list = |(name, _): (&'static str, _)| Some((name, parse(settings.value(name)?)?));
    LISTS.into_iter().filter_map(list).collect()
}

/// Whether threads have the CPUs of the list that the server was given for them.
pub(crate) fn follows(settings: &ServerSettings, (role, mask): &RoleMask<'_>) -> bool {
    let of_role = LISTS
        .iter()
        .filter(|(_, roles)| roles.contains(&role.role.as_str()));
    let mut names = of_role.map(|(name, _)| *name);
    names.any(|name| settings.value(name).and_then(parse).as_ref() == Some(&mask.cpus))
}

/// Parses `0-7:2,12` (setcpuaffinity.c): ids and ranges, with a step after a colon; `None` for
/// another form, which the server ignores.
fn parse(text: &str) -> Option<CpuSet> {
    let mut cpus = CpuSet::default();
    for part in text.split(',') {
        let (range, step) = match part.split_once(':') {
            Some((range, step)) => (range, number(step)?),
            None => (part, 1),
        };
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (number(first)?, number(last)?);
        if step == 0 || last < first || last >= CPUS_MAX {
            return None;
        }
        cpus.extend((first..=last).step_by(step as usize).map(CpuId));
    }
    Some(cpus)
}

fn number(text: &str) -> Option<u32> {
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lists_have_ids_ranges_and_steps() {
        let check = |text, expected: Option<&str>| {
            assert_eq!(
                parse(text).map(|it| it.to_string()).as_deref(),
                expected,
                "{text}"
            );
        };
        check("0", Some("0"));
        check("1,3", Some("1,3"));
        check("8-11", Some("8-11"));
        check("0-7:2,12", Some("0,2,4,6,12"));
        check("0-7:0", None);
        check("7-0", None);
        check("0-4294967295", None);
        check("all", None);
        check("", None);
    }

    proptest! {
        #[test]
        fn no_list_panics(text in "[0-9,:-]{0,30}") {
            let _ = parse(&text);
        }
    }
}
