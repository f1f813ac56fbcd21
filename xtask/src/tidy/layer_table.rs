//! The layer table of ARCHITECTURE.md: which crates exist and what each may import.

use std::collections::BTreeSet;

/// One row of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layer {
    /// The line in ARCHITECTURE.md.
    pub line: usize,
    /// The number of the layer; `None` for developers' crates (`dev`).
    pub level: Option<u32>,
    /// The directory that the crate is in.
    pub folder: String,
    /// The name of the crate and of its directory.
    pub name: String,
    /// The crates that it may import.
    pub may_import: BTreeSet<String>,
    /// Whether it may contain unsafe code.
    pub may_be_unsafe: bool,
}

/// Parses the rows of the table; also returns what could not be parsed, with its line.
///
/// ```text
/// | layer | folder | crate | may import | unsafe |
/// | --- | --- | --- | --- | --- |
/// | 4 | crates/lab | store | model | no |
/// ```
pub(crate) fn parse(text: &str) -> (Vec<Layer>, Vec<(usize, String)>) {
    let (mut layers, mut problems) = (Vec::new(), Vec::new());
    let mut is_inside = false;
    for (index, row) in text.lines().enumerate() {
        let Some(row) = row.trim().strip_prefix('|') else {
            is_inside = false;
            continue;
        };
        let cells: Vec<_> = row
            .trim_end_matches('|')
            .split('|')
            .map(str::trim)
            .collect();
        if cells == ["layer", "folder", "crate", "may import", "unsafe"] {
            is_inside = true;
        } else if is_inside && !cells[0].starts_with("---") {
            match parse_row(index + 1, &cells) {
                Ok(layer) => layers.push(layer),
                Err(problem) => problems.push((index + 1, problem)),
            }
        }
    }
    if layers.is_empty() {
        problems.push((
            1,
            "there is no table `| layer | folder | crate | may import | unsafe |`".into(),
        ));
    }
    (layers, problems)
}

fn parse_row(line: usize, cells: &[&str]) -> Result<Layer, String> {
    let [level, folder, name, may_import, may_be_unsafe] = cells else {
        return Err(format!("a row has {} cells instead of 5", cells.len()));
    };
    let level = match *level {
        "dev" => None,
        number => {
            let expected = || format!("`{number}` is neither a layer number nor `dev`");
            Some(number.parse().map_err(|_| expected())?)
        }
    };
    let may_be_unsafe = match *may_be_unsafe {
        "yes" => true,
        "no" => false,
        other => return Err(format!("unsafe is `{other}` instead of yes or no")),
    };
    let may_import = may_import.split_whitespace().map(str::to_string).collect();
    Ok(Layer {
        line,
        level,
        folder: folder.to_string(),
        name: name.to_string(),
        may_import,
        may_be_unsafe,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "| layer | folder | crate | may import | unsafe |\n| --- | --- | --- | --- | --- |\n";

    #[test]
    fn rows_are_read_with_their_lines() {
        let text = format!(
            "# A\n\n{HEAD}| 1 | crates/base | linux | model | yes |\n| dev | . | xtask | | no |\n"
        );
        let (layers, problems) = parse(&text);
        assert_eq!(problems, []);
        assert_eq!(layers[0].name, "linux");
        assert_eq!(layers[0].folder, "crates/base");
        assert_eq!((layers[0].line, layers[0].level), (5, Some(1)));
        assert!(layers[0].may_be_unsafe && layers[0].may_import.contains("model"));
        assert_eq!((layers[1].level, layers[1].may_import.len()), (None, 0));
    }

    #[test]
    fn rows_that_make_no_sense_are_problems() {
        let rows = [
            "| x | c | a | | no |",
            "| 1 | c | a | no |",
            "| 1 | c | a | | maybe |",
        ];
        for row in rows {
            let (_, problems) = parse(&format!("{HEAD}{row}\n"));
            assert_eq!(problems[0].0, 3, "{row}");
        }
        assert_eq!(parse("no table").1.len(), 1);
    }

    #[test]
    fn other_tables_are_not_read() {
        let text = format!(
            "{HEAD}| 0 | c | model | | no |\n\n| a | b | c | d | e |\n| 1 | 2 | 3 | 4 | 5 |\n"
        );
        let (layers, problems) = parse(&text);
        assert_eq!((layers.len(), problems.len()), (1, 0));
    }
}
