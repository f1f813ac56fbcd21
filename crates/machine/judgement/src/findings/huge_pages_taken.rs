//! Which nodes huge pages are in use on, at the moments of a text.

use model::{GivenCpus, NodeId, NodeSet, PoolMoment, Severity, ShellLine, cpu_words, node_words};

use super::row::{Check, Row};
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, fact};

pub(super) const ROW: Row = Row {
    id: "huge-pages-taken",
    severity: Severity::Error,
    about: "nearly all huge pages that a text shows in use are on one node, far from the CPUs that \
            were given",
    cost: "an SGA on a far node gave 2.17 instead of 4.62 million logical reads per second",
    cost_source: "Drouvot, 7 January 2015",
    checks: &[Check::Doctor(sight::pool_moments, check)],
};

/// With this share or more of the pages in use, one node has nearly all.
const MOST: f64 = 0.8;
/// Fewer pages are no SGA.
const PAGES_MIN: u64 = 128;
/// The firmware's distance of a node's own memory (ACPI 6.5, 5.2.17).
const LOCAL: u32 = 10;

/// What a moment shows.
struct Taken<'a> {
    moment: &'a PoolMoment,
    node: NodeId,
    pages: u64,
    all: u64,
    /// CPUs that were given, and the least distance from them to the node.
    given: Option<(&'a GivenCpus, NodeSet, Option<u32>)>,
}

impl<'a> Taken<'a> {
    fn of(input: &'a DoctorInput, moment: &'a PoolMoment) -> Option<Self> {
        let used = moment.pages.iter();
        let used = used.map(|(node, (all, free))| (*node, all.saturating_sub(*free)));
        let all = used.clone().fold(0_u64, |sum, it| sum.saturating_add(it.1));
        let (node, pages) = used.max_by_key(|it| it.1)?;
        let is_one_of_several = moment.pages.len() > 1 && pages as f64 >= MOST * all as f64;
        (is_one_of_several && pages >= PAGES_MIN).then(|| Taken {
            moment,
            node,
            pages,
            all,
            given: given(input, moment.order).and_then(|cpus| {
                let topology = &input.topology;
                let of_cpus = cpus.cpus.iter().map(|cpu| topology.node_of_cpu(cpu));
                let nodes = of_cpus.collect::<Option<NodeSet>>()?;
                let distances = nodes.iter().map(|from| match from == node {
                    true => Some(LOCAL),
                    false => topology.distance(from, node),
                });
                let nearest = distances.collect::<Option<Vec<u32>>>();
                Some((cpus, nodes, nearest.and_then(|it| it.into_iter().min())))
            }),
        })
    }

    fn is_far(&self) -> bool {
        let given = self.given.as_ref();
        given.is_some_and(|(_, nodes, _)| !nodes.contains(self.node))
    }

    fn sentence(&self) -> String {
        let Taken {
            node, pages, all, ..
        } = self;
        let where_to = match &self.given {
            None => String::new(),
            Some((given, nodes, _)) if nodes.contains(*node) => {
                format!(", the node of {}", cpu_words(&given.cpus))
            }
            Some((given, nodes, distance)) => {
                let distance = distance.map_or(String::new(), |it| format!(" at distance {it}"));
                format!(
                    ",{distance} from {} ({})",
                    cpu_words(&given.cpus),
                    node_words(nodes)
                )
            }
        };
        format!("{pages} of {all} huge pages in use are on node {node}{where_to}")
    }
}

/// The CPUs that were given last before a moment, or first after it.
fn given(input: &DoctorInput, order: usize) -> Option<&GivenCpus> {
    let mut lists = input.given_cpus.iter().map(|it| &it.cpus);
    let first = lists.next()?;
    if lists.any(|it| it != first) {
        // Whose pages they are is not known, if several have CPUs.
        return None;
    }
    let before = input.given_cpus.iter().rfind(|it| it.order <= order);
    before.or(input.given_cpus.first())
}

fn check(input: &DoctorInput) -> Option<Found> {
    let taken: Vec<Taken<'_>> = input
        .pool_moments
        .iter()
        .filter_map(|moment| Taken::of(input, moment))
        .collect();
    let main = taken.iter().rfind(|it| it.is_far()).or(taken.last())?;
    let of_moment = |it: &Taken<'_>| fact(it.moment.place.clone(), it.sentence());
    let found = Found {
        evidence: taken.iter().map(of_moment).collect(),
        ..Found::that(main.sentence())
    };
    Some(match main.is_far() {
        true => Found {
            fix: vec![ShellLine::of(
                "# give the CPUs of that node, or memory of the node of the CPUs: cpuset.cpus and \
                 cpuset.mems must name the same nodes",
            )],
            ..found
        },
        false => found.for_information(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::target;

    /// A target on the first of three nodes with CPUs 0-2.
    fn input(pages: [(u64, u64); 3], cpus: &str) -> DoctorInput {
        let mut input = target(&[(0, 1)], "default", "0", "0-2");
        input.pool_moments = vec![PoolMoment {
            place: "a.txt:5".to_owned(),
            order: 5,
            pages: (0..).map(NodeId).zip(pages).collect(),
        }];
        input.given_cpus = vec![GivenCpus {
            cpus: cpus.parse().unwrap(),
            ..GivenCpus::default()
        }];
        input
    }

    #[test]
    fn pages_far_from_the_given_cpus_are_an_error() {
        let near = input([(39303, 23589), (39302, 39302), (39302, 39302)], "0");
        let found = check(&near).unwrap();
        let expected = "15714 of 15714 huge pages in use are on node 0, the node of CPU 0";
        assert_eq!(found.message, expected);
        assert_eq!(found.severity, Some(Severity::Info));
        let far = input([(39303, 39047), (39302, 39302), (39302, 23557)], "0");
        let found = check(&far).unwrap();
        assert!(
            found.message.contains("15745 of 16001"),
            "{}",
            found.message
        );
        assert_eq!(found.severity, None);
        let even = input([(10, 5), (10, 5), (10, 5)], "0");
        assert!(check(&even).is_none());
    }
}
