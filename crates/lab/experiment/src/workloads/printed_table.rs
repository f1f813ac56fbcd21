//! The mean of a column of a table, or of a field of many documents, that a program printed. Pure.

use super::printed_lines::shown;

/// The mean of the column with this name of the first table that has it.
///
/// # Errors
/// What is there instead, as a lower-case fragment.
pub(super) fn of_csv(text: &str, column: &str) -> Result<f64, String> {
    let reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let mut records = reader.into_records().map_while(Result::ok);
    let heading = records.find_map(|record| {
        let place = record.iter().position(|name| name == column)?;
        Some((place, record.len()))
    });
    let (place, width) =
        heading.ok_or_else(|| format!("no heading has a column {column:?}: {}", shown(text)))?;
    let mut figures = Vec::new();
    for record in records.take_while(|record| record.len() == width) {
        let cell = record.get(place).unwrap_or_default();
        let row = figures.len() + 1;
        let figure: Result<f64, _> = cell.parse();
        figures.push(figure.map_err(|_| {
            format!(
                "row {row} has no number in column {column:?}: {}",
                shown(cell)
            )
        })?);
    }
    mean(&figures).ok_or_else(|| format!("the table with column {column:?} has no rows"))
}

/// The mean of a field of all lines that are JSON objects and have it.
///
/// # Errors
/// As [`of_csv`].
pub(super) fn of_json_lines(text: &str, pointer: &str) -> Result<f64, String> {
    let mut figures = Vec::new();
    for line in text
        .lines()
        .filter(|line| line.trim_start().starts_with('{'))
    {
        let document: Option<serde_json::Value> = serde_json::from_str(line).ok();
        let field = document.as_ref().and_then(|it| it.pointer(pointer));
        if let Some(field) = field {
            let figure = field.as_f64();
            figures.push(figure.ok_or_else(|| {
                let value = shown(&field.to_string());
                format!("field {pointer:?} is not a number: {value}")
            })?);
        }
    }
    mean(&figures).ok_or_else(|| {
        format!(
            "no line is a JSON object with field {pointer:?}: {}",
            shown(text)
        )
    })
}

fn mean(figures: &[f64]) -> Option<f64> {
    let count = figures.len();
    (count > 0).then(|| figures.iter().sum::<f64>() / count as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(found: Result<f64, String>, expected: Result<f64, &str>) {
        match (found, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected),
            (Err(found), Err(expected)) => assert!(found.contains(expected), "{found}"),
            (found, expected) => panic!("{found:?}, not {expected:?}"),
        }
    }

    #[test]
    fn a_column_is_averaged_from_its_heading_to_the_end_of_its_table() {
        let text = "starting, please wait\nsecond,tps,\"lat, ms\"\n1,10,5\n2, 30 ,7\ndone\n9,9,9\n";
        check(of_csv(text, "tps"), Ok(20.0));
        check(of_csv(text, "lat, ms"), Ok(6.0));
        check(of_csv(text, "qps"), Err("no heading has a column \"qps\""));
        check(of_csv("tps\n", "tps"), Err("has no rows"));
        check(of_csv("a,tps\n1,\n", "tps"), Err("row 1 has no number"));
        check(
            of_csv("a,tps\n1,2\n1,3 ms\n", "tps"),
            Err("row 2 has no number in column \"tps\": \"3 ms\""),
        );
    }

    #[test]
    fn a_field_is_averaged_over_the_lines_that_have_it() {
        let text = "warming up\n{\"tps\": 10}\n{\"event\": \"x\"}\n{\"tps\": 20.0}\n";
        check(of_json_lines(text, "/tps"), Ok(15.0));
        check(
            of_json_lines(text, "/qps"),
            Err("no line is a JSON object with"),
        );
        check(
            of_json_lines("{\"a\": \"7\"}", "/a"),
            Err("is not a number"),
        );
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[a,\"{}:/0-9\n .-]{0,80}") {
            let _ = (of_csv(&text, "a"), of_json_lines(&text, "/a"));
        }
    }
}
