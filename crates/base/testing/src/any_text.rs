//! Texts that a regular expression describes, for tests of what reads them.

use std::panic::Location;

use proptest::string::string_regex;
use proptest::test_runner::{Config, TestError, TestRunner};

/// Calls `check` with texts that the regular expression describes, as `proptest!` does with one
/// parameter. This is compiled once, whereas each use of the macro is a runner of its own: some
/// 3,000 lines of the compiler's intermediate code.
///
/// # Panics
/// If `check` does, with the shortest text found for which it does; and if the expression describes
/// no texts.
#[track_caller]
pub fn any_text(expression: &str, check: &dyn Fn(&str)) {
    let config = Config {
        // Where seeds of failures are kept: beside the test.
        source_file: Some(Location::caller().file()),
        ..Config::default()
    };
    run(config, expression, check);
}

fn run(config: Config, expression: &str, check: &dyn Fn(&str)) {
    let texts = string_regex(expression);
    let texts = texts.unwrap_or_else(|error| panic!("{expression}: {error}"));
    let outcome = TestRunner::new(config).run(&texts, |text| {
        check(&text);
        Ok(())
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(reason, text)) => panic!("{reason}\nwith the text {text:?}"),
        Err(error) => panic!("{error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn texts_are_those_of_the_expression() {
        let seen = RefCell::new(Vec::new());
        any_text("a[0-9]{1,3}", &|text| {
            seen.borrow_mut().push(text.to_owned());
        });
        let seen = seen.into_inner();
        let is_one = |text: &String| text.strip_prefix('a').is_some_and(|it| it.len() <= 3);
        assert!(seen.len() >= 100 && seen.iter().all(is_one), "{seen:?}");
    }

    #[test]
    fn the_shortest_text_that_panics_is_told() {
        let run = || {
            let config = Config {
                failure_persistence: None,
                ..Config::default()
            };
            run(config, "[a-z]{0,20}", &|text| {
                assert!(text.len() < 3, "long")
            });
        };
        let panic = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
        let said = panic.downcast_ref::<String>().unwrap();
        assert_eq!(said, "long\nwith the text \"aaa\"");
    }
}
