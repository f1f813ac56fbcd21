//! The kernel's weights for weighted interleave, `/sys/kernel/mm/mempolicy/weighted_interleave`
//! (Linux 6.9; Documentation/ABI/testing/sysfs-kernel-mm-mempolicy-weighted-interleave).

use std::collections::BTreeMap;

use model::NodeId;

use crate::{Error, Root};

const DIRECTORY: &str = "sys/kernel/mm/mempolicy/weighted_interleave";

/// Each node's weight, in pages per round; `None` when the kernel has no such policy.
///
/// # Errors
/// When a file cannot be read or is not a number.
pub fn read(root: &Root) -> Result<Option<BTreeMap<NodeId, u64>>, Error> {
    let Some(names) = root.entries(DIRECTORY)? else {
        return Ok(None);
    };
    let mut weights = BTreeMap::new();
    for name in names {
        // Linux 6.16 has a file `auto` beside those of the nodes.
        let Some(node) = name.strip_prefix("node").and_then(|id| id.parse().ok()) else {
            continue;
        };
        let file = root.read(&format!("{DIRECTORY}/{name}"))?;
        weights.insert(NodeId(node), file.number()?);
    }
    Ok(Some(weights))
}

#[cfg(test)]
mod tests {
    use model::NodeId;

    use super::read;
    use crate::Root;

    #[test]
    fn weights_are_read_by_node_and_a_kernel_without_them_has_none() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path()).unwrap();
        assert_eq!(read(&root).unwrap(), None);
        let directory = folder.path().join(super::DIRECTORY);
        std::fs::create_dir_all(&directory).unwrap();
        for (name, text) in [("node0", "5\n"), ("node12", "2\n"), ("auto", "true\n")] {
            std::fs::write(directory.join(name), text).unwrap();
        }
        let weights = read(&root).unwrap().unwrap();
        assert_eq!(
            weights.into_iter().collect::<Vec<_>>(),
            [(NodeId(0), 5), (NodeId(12), 2)]
        );
        std::fs::write(directory.join("node0"), "many\n").unwrap();
        let error = read(&root).unwrap_err().to_string();
        assert!(error.contains("node0"), "{error}");
    }
}
