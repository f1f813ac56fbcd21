//! Judges the local latency of each node: against that of the other nodes' memory, and against the
//! local latency of the other nodes.

use model::{Finding, NodeMatrix, NodeSet, Severity};

use super::classes::{Measured, classes_of_row};
use super::figures;
use super::findings::{LOCAL_NOT_NEAREST, LOCAL_OUTLIER, finding};
use super::pairs::{Pairs, Range};

/// Local latencies that differ by this share or more are reported. The CPUs of one node differ by
/// less: 15 ns within one cell were seen on Granite Rapids, and in published matrices of identical
/// nodes the local figures spread by up to 3 %.
const LOCAL_SHARE: f64 = 0.10;

/// Adds one finding for all nodes to which another node's memory is nearer than their own.
pub(crate) fn not_nearest(matrix: &NodeMatrix, found: &mut Vec<Finding>) {
    let mut pairs = Pairs::default();
    let (mut nearer, mut local) = (Range::default(), Range::default());
    for (cpu_node, cells) in matrix.rows() {
        let classes = classes_of_row(matrix, cells);
        let Some((nearest, others)) = classes.split_first() else {
            continue;
        };
        let mut others = others.iter().flatten();
        let Some(own) = others.find(|member| member.node == cpu_node) else {
            continue;
        };
        local.add(own.ns);
        nearer.extend(nearest.iter().map(|member| member.ns));
        for member in nearest {
            pairs.insert(cpu_node, member.node);
        }
    }
    if pairs.is_empty() {
        return;
    }
    found.push(finding(
        LOCAL_NOT_NEAREST,
        Severity::Warning,
        format!(
            "other memory is nearer ({}) than a node's own ({}): {}; the firmware may have given \
             CPUs or memory to the wrong node",
            nearer.ns(),
            local.ns(),
            pairs.directed(),
        ),
    ));
}

/// Adds one finding for all nodes whose own memory is slower than that of the median node, and one
/// for all whose own is faster: by [`LOCAL_SHARE`], and by more than their intervals, where they
/// have any. The median is the lower of the middle two figures, so that of two nodes the slower one
/// is the outlier, and the median was measured and has its own interval.
pub(crate) fn outliers(matrix: &NodeMatrix, found: &mut Vec<Finding>) {
    let mut local: Vec<Measured> = matrix
        .rows()
        .filter_map(|(node, _)| Measured::of(node, matrix.cell(node, node)?))
        .collect();
    local.sort_by(|a, b| a.ns.total_cmp(&b.ns).then(a.node.cmp(&b.node)));
    let Some(median) = local.get(local.len().saturating_sub(1) / 2).copied() else {
        return;
    };
    let share = |it: &Measured| (it.ns / median.ns - 1.0).abs();
    let outliers = local
        .iter()
        .filter(|it| share(it) >= LOCAL_SHARE && !it.overlaps(&median));
    let (slower, faster): (Vec<&Measured>, Vec<&Measured>) =
        outliers.partition(|it| it.ns > median.ns);
    for (outliers, word) in [(slower, "slower"), (faster, "faster")] {
        if outliers.is_empty() {
            continue;
        }
        let (mut ns, mut shares) = (Range::default(), Range::default());
        ns.extend(outliers.iter().map(|it| it.ns));
        shares.extend(outliers.iter().map(|it| share(it)));
        let nodes: NodeSet = outliers.iter().map(|it| it.node).collect();
        found.push(finding(
            LOCAL_OUTLIER,
            Severity::Warning,
            format!(
                "from its own CPUs, the memory of {} is {word} ({}) than the local memory of the \
                 median node ({}), by {}: its memory modules, channels or CPUs may differ from \
                 those of the other nodes",
                figures::nodes(&nodes),
                ns.ns(),
                figures::ns(median.ns),
                shares.percent(),
            ),
        ));
    }
}
