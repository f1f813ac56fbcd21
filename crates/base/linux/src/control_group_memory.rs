//! `memory.numa_stat` of a cgroup: what it was charged for, by node (kernel,
//! `Documentation/admin-guide/cgroup-v2.rst`, since 5.11; `cgroup-v1/memory.rst`, since 3.1).

use model::{BytesByNode, NodeId};

use crate::{Error, Root, TextFile, process};

/// Bytes by node of the cgroup at `path` (as in /proc/PID/cgroup), under cgroup v2 or v1: anonymous
/// memory and page cache with shared memory, without huge pages of hugetlbfs. `None` where the
/// kernel has no such file.
///
/// # Errors
/// When the file is malformed.
pub fn read(root: &Root, path: &str) -> Result<Option<BytesByNode>, Error> {
    let path = path.trim_matches('/');
    for (mount, is_v1) in [("sys/fs/cgroup", false), ("sys/fs/cgroup/memory", true)] {
        let file = root.read_optional(&format!("{mount}/{path}/memory.numa_stat"))?;
        match file {
            Some(file) if is_v1 => return parse_v1(&file, process::page_bytes()).map(Some),
            Some(file) => return parse_v2(&file).map(Some),
            None => {}
        }
    }
    Ok(None)
}

/// `anon N0=4096 N1=0`, `file N0=0 N1=8192`; figures in bytes. Other lines are parts of these two.
fn parse_v2(file: &TextFile) -> Result<BytesByNode, Error> {
    let mut bytes = BytesByNode::new();
    for (number, line) in file.lines() {
        let (name, figures) = line.split_once(' ').unwrap_or((line, ""));
        if matches!(name, "anon" | "file") {
            add(file, number, figures, 1, &mut bytes)?;
        }
    }
    Ok(bytes)
}

/// `total=12 N0=4 N1=8`, `file=…`, `hierarchical_total=…`; figures in pages. The line `total` is of
/// the cgroup alone, `hierarchical_total` (since 3.19) with those below it.
fn parse_v1(file: &TextFile, page_bytes: u64) -> Result<BytesByNode, Error> {
    let line_of = |name: &str| {
        file.lines().find_map(|(number, line)| {
            let (key, rest) = line.split_once('=')?;
            (key == name).then_some((number, rest))
        })
    };
    let line = line_of("hierarchical_total").or_else(|| line_of("total"));
    let (number, rest) = line.ok_or_else(|| file.ended("a line total=PAGES"))?;
    let mut bytes = BytesByNode::new();
    let figures = rest.split_once(' ').map_or("", |(_, figures)| figures);
    add(file, number, figures, page_bytes, &mut bytes)?;
    Ok(bytes)
}

fn add(
    file: &TextFile,
    number: usize,
    figures: &str,
    unit: u64,
    bytes: &mut BytesByNode,
) -> Result<(), Error> {
    for word in figures.split_ascii_whitespace() {
        let figure = word.split_once('=').and_then(|(node, figure)| {
            let node: u32 = node.strip_prefix('N')?.parse().ok()?;
            Some((NodeId(node), figure.parse::<u64>().ok()?.checked_mul(unit)?))
        });
        let figure = figure.ok_or_else(|| file.malformed(number, "figures such as N0=1", word));
        let (node, figure) = figure?;
        let sum = bytes.entry(node).or_default();
        *sum = sum.saturating_add(figure);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> TextFile {
        TextFile::new("/memory.numa_stat", text)
    }

    #[test]
    fn both_versions_are_read() {
        let v2 = "anon N0=4096 N8=1\nfile N0=0 N8=8192\nshmem N0=0 N8=8192\nsock\n";
        let expected = BytesByNode::from([(NodeId(0), 4096), (NodeId(8), 8193)]);
        assert_eq!(parse_v2(&file(v2)).unwrap(), expected);
        let v1 = "total=3 N0=1 N1=2\nfile=1 N0=1 N1=0\nhierarchical_total=7 N0=3 N1=4\n";
        let expected = BytesByNode::from([(NodeId(0), 3 * 4096), (NodeId(1), 4 * 4096)]);
        assert_eq!(parse_v1(&file(v1), 4096).unwrap(), expected);
        let old = "total=3 N0=1 N1=2\nfile=1 N0=1 N1=0\n";
        let expected = BytesByNode::from([(NodeId(0), 4096), (NodeId(1), 2 * 4096)]);
        assert_eq!(parse_v1(&file(old), 4096).unwrap(), expected);
    }

    #[test]
    fn a_figure_that_is_none_is_named() {
        let error = parse_v2(&file("file N0=1\nanon N0=x\n")).unwrap_err();
        let expected = "/memory.numa_stat, line 2: expected figures such as N0=1, found \"N0=x\"";
        assert_eq!(error.to_string(), expected);
        assert!(parse_v1(&file("file=1 N0=1\n"), 4096).is_err());
        assert!(parse_v1(&file("total=1 N0=18446744073709551615\n"), 4096).is_err());
    }

    #[test]
    fn no_text_panics() {
        testing::any_text(
            "((anon|file|total=1|\\PC{0,4})( N?[0-9]{0,9}=?[0-9]{0,22}){0,3}\n?){0,5}",
            &|text| {
                let _ = parse_v2(&file(text));
                let _ = parse_v1(&file(text), 4096);
            },
        );
    }
}
