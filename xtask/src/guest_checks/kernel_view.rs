//! The machine as its kernel shows it, read by shell commands and not by numalab, so that numalab
//! can be compared with it.

use anyhow::{Context, Result};

/// Prints one line for the CPUs, and one for each node and each size of huge pages:
///
/// ```text
/// cpus|0-3|2|4                    online, packages, cores
/// node|0|0-1|1030156|10 21        id, CPUs, MemTotal in kB, distances
/// huge|0|2048|0|0                 node, page size in kB, total, free
/// ```
pub(super) const SCRIPT: &str = r#"
cd /sys/devices/system
packages=$(sort -u cpu/cpu[0-9]*/topology/physical_package_id | wc -l)
cores=$(for cpu in cpu/cpu[0-9]*/topology; do
    echo "$(cat "$cpu/physical_package_id") $(cat "$cpu/core_id")"
done | sort -u | wc -l)
echo "cpus|$(cat cpu/online)|$packages|$cores"
for id in $(ls node | sed -n 's/^node\([0-9][0-9]*\)$/\1/p' | sort -n); do
    node=node/node$id
    memory=$(awk '$3 == "MemTotal:" { print $4 }' "$node/meminfo")
    echo "node|$id|$(cat "$node/cpulist")|$memory|$(cat "$node/distance")"
    for size in $(ls "$node/hugepages" | sed -n 's/^hugepages-\([0-9]*\)kB$/\1/p' | sort -n); do
        pool=$node/hugepages/hugepages-${size}kB
        echo "huge|$id|$size|$(cat "$pool/nr_hugepages")|$(cat "$pool/free_hugepages")"
    done
done
"#;

/// What the script printed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct KernelView {
    /// Online CPUs.
    pub cpus: String,
    /// Number of packages of online CPUs.
    pub packages: u64,
    /// Number of cores of online CPUs.
    pub cores: u64,
    /// The nodes by id.
    pub nodes: Vec<NodeView>,
}

/// One node.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct NodeView {
    /// Its id.
    pub id: u64,
    /// Its CPUs.
    pub cpus: String,
    /// Its memory.
    pub memory_bytes: u64,
    /// The distances to all nodes.
    pub distances: Vec<u64>,
    /// Page size in bytes, total pages, free pages.
    pub huge_pages: Vec<[u64; 3]>,
}

/// Reads what the script printed.
pub(super) fn parse(text: &str) -> Result<KernelView> {
    let mut view = KernelView::default();
    for line in text.lines() {
        parse_line(line, &mut view)
            .with_context(|| format!("the kernel's view has the line `{line}`"))?;
    }
    Ok(view)
}

fn parse_line(line: &str, view: &mut KernelView) -> Result<()> {
    let fields: Vec<_> = line.split('|').collect();
    match fields.as_slice() {
        ["cpus", cpus, packages, cores] => {
            view.cpus = cpus.to_string();
            view.packages = packages.parse()?;
            view.cores = cores.parse()?;
        }
        ["node", id, cpus, memory_kib, distances] => view.nodes.push(NodeView {
            id: id.parse()?,
            cpus: cpus.to_string(),
            memory_bytes: memory_kib.parse::<u64>()? * 1024,
            distances: distances
                .split(' ')
                .map(str::parse)
                .collect::<Result<_, _>>()?,
            huge_pages: Vec::new(),
        }),
        ["huge", _, size_kib, total, free] => {
            let pool = [
                size_kib.parse::<u64>()? * 1024,
                total.parse()?,
                free.parse()?,
            ];
            let node = view
                .nodes
                .last_mut()
                .context("huge pages stand before their node")?;
            node.huge_pages.push(pool);
        }
        _ => anyhow::bail!("it has none of the known forms"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_lines_are_read_back() {
        let text = "cpus|0-3|2|4\nnode|2||0|24 34\nhuge|2|2048|3|1\n";
        let node = NodeView {
            id: 2,
            cpus: String::new(),
            memory_bytes: 0,
            distances: vec![24, 34],
            huge_pages: vec![[2_097_152, 3, 1]],
        };
        let expected = KernelView {
            cpus: "0-3".into(),
            packages: 2,
            cores: 4,
            nodes: vec![node],
        };
        assert_eq!(parse(text).unwrap(), expected);
    }

    #[test]
    fn an_unknown_line_is_named() {
        assert!(format!("{:#}", parse("nodes|1\n").unwrap_err()).contains("`nodes|1`"));
    }
}
