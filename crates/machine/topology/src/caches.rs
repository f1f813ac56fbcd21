//! Caches, combined from what each CPU reports about those it uses.

use std::collections::{BTreeMap, BTreeSet};

use linux::sysfs_caches::CpuCache;
use model::{Cache, CacheKind, CpuId, CpuSet};

use crate::gaps::Gaps;

/// The properties of a cache besides its level and kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Facts {
    size_bytes: Option<u64>,
    line_bytes: Option<u64>,
}

/// The caches of one level and kind.
#[derive(Default)]
struct Level {
    /// Caches whose CPUs report who shares them.
    shared: BTreeMap<CpuSet, Vec<Facts>>,
    /// Caches of CPUs that do not report it, with the number of the cache.
    open: Vec<(CpuId, Option<u32>, Facts)>,
    /// CPUs whose list of sharers lacks themselves: with another file that is used, and without.
    wrong_lists: (CpuSet, CpuSet),
}

/// What remains unknown, by level.
#[derive(Default)]
struct Unknown {
    sharers: BTreeMap<u32, CpuSet>,
    facts: BTreeMap<u32, CpuSet>,
}

/// The caches that the CPUs in `online` report; identical caches become one entry. Those whose
/// sharers are unknown are a separate entry: whether they are one or many is unknown.
pub(crate) fn of(
    of_cpus: BTreeMap<CpuId, Vec<CpuCache>>,
    online: &CpuSet,
    gaps: &mut Gaps,
) -> Vec<Cache> {
    let mut levels: BTreeMap<(u32, CacheKind), Level> = BTreeMap::new();
    let mut without_level = CpuSet::new();
    for (cpu, caches) in of_cpus {
        for cache in caches {
            let (Some(level), Some(kind)) = (cache.level, cache.kind) else {
                without_level.insert(cpu);
                continue;
            };
            let facts = Facts {
                size_bytes: cache.size_bytes,
                line_bytes: cache.line_bytes,
            };
            let of_level = levels.entry((level, kind)).or_default();
            if cache.list_is_wrong {
                let (used, none) = &mut of_level.wrong_lists;
                let wrong = if cache.shared_by.is_some() {
                    used
                } else {
                    none
                };
                wrong.insert(cpu);
            }
            match cache.shared_by {
                Some(cpus) => {
                    let cpus = cpus.intersection(online);
                    merge(of_level.shared.entry(cpus).or_default(), facts);
                }
                None => of_level.open.push((cpu, cache.id, facts)),
            }
        }
    }
    gaps.of_cpus(&without_level, "a cache left out (no level or type)");
    let mut list = Vec::new();
    let mut unknown = Unknown::default();
    for ((level, kind), of_level) in levels {
        let (used, none) = &of_level.wrong_lists;
        let lacks = format!("shared_cpu_list of an L{level} cache lacks the CPU itself");
        gaps.of_cpus(used, &format!("{lacks}; shared_cpu_map is used"));
        gaps.of_cpus(
            none,
            &format!("{lacks}, and so does shared_cpu_map, or is missing"),
        );
        let caches = of_level.put_together(level, &mut unknown);
        list.extend(caches.into_iter().map(|(facts, shared_by)| Cache {
            level,
            kind,
            size_bytes: facts.size_bytes,
            line_bytes: facts.line_bytes,
            shared_by,
        }));
    }
    let files = "no shared_cpu_list or shared_cpu_map with the CPU itself";
    for (level, cpus) in unknown.sharers {
        gaps.of_cpus(
            &cpus,
            &format!("who shares L{level} caches is unknown ({files})"),
        );
    }
    for (level, cpus) in unknown.facts {
        gaps.of_cpus(
            &cpus,
            &format!("size or line length of an L{level} cache unknown"),
        );
    }
    list
}

/// Merges what one more CPU reports about a cache with what others reported.
fn merge(known: &mut Vec<Facts>, facts: Facts) {
    let agree = |one: Option<u64>, other: Option<u64>| one.zip(other).is_none_or(|(a, b)| a == b);
    let same = known.iter_mut().find(|known| {
        agree(known.size_bytes, facts.size_bytes) && agree(known.line_bytes, facts.line_bytes)
    });
    match same {
        Some(same) => {
            same.size_bytes = same.size_bytes.or(facts.size_bytes);
            same.line_bytes = same.line_bytes.or(facts.line_bytes);
        }
        None => known.push(facts),
    }
}

impl Level {
    /// Groups identical caches, with the CPUs of each; `None` where these are unknown.
    fn put_together(
        mut self,
        level: u32,
        unknown: &mut Unknown,
    ) -> Vec<(Facts, Option<Vec<CpuSet>>)> {
        let mut by_number: BTreeMap<u32, (CpuSet, Vec<Facts>)> = BTreeMap::new();
        let mut without_sharers: BTreeSet<Facts> = BTreeSet::new();
        for (cpu, number, facts) in self.open {
            let named = self.shared.iter_mut().find(|(cpus, _)| cpus.contains(cpu));
            if let Some((_, known)) = named {
                merge(known, facts);
            } else if let Some(number) = number {
                let (cpus, known) = by_number.entry(number).or_default();
                cpus.insert(cpu);
                merge(known, facts);
            } else {
                unknown.sharers.entry(level).or_default().insert(cpu);
                without_sharers.insert(facts);
            }
        }
        let mut alike: BTreeMap<Facts, BTreeSet<CpuSet>> = BTreeMap::new();
        for (cpus, known) in self.shared.into_iter().chain(by_number.into_values()) {
            for facts in known {
                alike.entry(facts).or_default().insert(cpus.clone());
            }
        }
        note_what_only_some_say(level, &alike, unknown);
        let known = alike
            .into_iter()
            .map(|(facts, cpus)| (facts, Some(cpus.into_iter().collect())));
        let without_sharers = without_sharers.into_iter().map(|facts| (facts, None));
        let mut caches: Vec<_> = known.chain(without_sharers).collect();
        caches.sort_by_key(|(facts, _)| *facts);
        caches
    }
}

/// Where no CPU reports a size, it is just unknown; where others do, a file is missing.
fn note_what_only_some_say(
    level: u32,
    alike: &BTreeMap<Facts, BTreeSet<CpuSet>>,
    unknown: &mut Unknown,
) {
    let is_said = |fact: fn(&Facts) -> Option<u64>| alike.keys().any(|facts| fact(facts).is_some());
    let says_size = is_said(|facts| facts.size_bytes);
    let says_line = is_said(|facts| facts.line_bytes);
    for (facts, caches) in alike {
        let lacks_size = says_size && facts.size_bytes.is_none();
        let lacks_line = says_line && facts.line_bytes.is_none();
        if lacks_size || lacks_line {
            let cpus: CpuSet = caches.iter().flatten().collect();
            let of_level = unknown.facts.entry(level).or_default();
            *of_level = of_level.union(&cpus);
        }
    }
}
