//! A number that is the same in every trial of every case was read from the wrong place, such as
//! the seconds that a program was asked to run: no case can be better.

use model::{Case, NumberPlace, PrintedNumber, Work};

/// So many trials of each case make a coincidence unlikely, also of small whole numbers.
const TRIALS_MIN: usize = 3;

/// Returns what is wrong, if all cases have printed the same number each time.
pub(super) fn same_number(cases: &[Case]) -> Option<String> {
    let valid = |case: &Case| -> Vec<PrintedNumber> {
        let counted = case.trials.iter().filter(|it| it.valid_value().is_some());
        let read = counted.map(|trial| trial.evidence.number_read.clone());
        read.collect::<Option<_>>().unwrap_or_default()
    };
    let read: Vec<Vec<PrintedNumber>> = cases.iter().map(valid).collect();
    let first = read.first()?.first()?;
    let is_same = |of_case: &Vec<PrintedNumber>| {
        let mut numbers = of_case.iter().map(|it| it.number);
        of_case.len() >= TRIALS_MIN && numbers.all(|it| it == first.number)
    };
    if cases.len() < 2 || !read.iter().all(is_same) {
        return None;
    }
    let Work::Command(work) = &cases[0].plan.work else {
        return None;
    };
    Some(format!(
        "`{}` read {first} in every trial of every case, so that there is nothing to compare: \
         have `number` select what the cases differ in",
        written(&work.number)
    ))
}

/// A place as a file has it.
fn written(place: &NumberPlace) -> String {
    match place {
        NumberPlace::Last => "last".to_owned(),
        NumberPlace::Line(line) => format!("line:{line}"),
        NumberPlace::Regex(expression) => format!("regex:{expression}"),
        NumberPlace::Json(pointer) => format!("json:{pointer}"),
        NumberPlace::JsonLines(pointer) => format!("json-lines:{pointer}"),
        NumberPlace::Csv(column) => format!("csv:{column}"),
    }
}
