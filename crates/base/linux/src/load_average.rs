//! `/proc/loadavg`: the number of runnable tasks (`proc_loadavg(5)`).

use crate::{Error, Root};

/// Tasks of the whole machine that are running or runnable now, including the caller; `None` when
/// there is no such file.
///
/// # Errors
/// When the file is malformed.
pub fn runnable_tasks(root: &Root) -> Result<Option<u32>, Error> {
    let Some(file) = root.read_optional("proc/loadavg")? else {
        return Ok(None);
    };
    // One real line: `4.10 5.20 4.67 3/219 12345`.
    let tasks = file.text().split_ascii_whitespace().nth(3);
    let runnable = tasks.and_then(|tasks| tasks.split_once('/')?.0.parse().ok());
    runnable.map(Some).ok_or_else(|| {
        let expected = "the number of tasks that run and of all, as in 3/219";
        file.malformed(1, expected, file.text())
    })
}

#[cfg(test)]
mod tests {

    use super::runnable_tasks;
    use crate::Root;

    fn of(text: &str) -> Result<Option<u32>, crate::Error> {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("proc")).unwrap();
        std::fs::write(directory.path().join("proc/loadavg"), text).unwrap();
        runnable_tasks(&Root::at(directory.path()).unwrap())
    }

    #[test]
    fn running_tasks_stand_before_the_slash() {
        assert_eq!(of("4.10 5.20 4.67 3/219 12345\n").unwrap(), Some(3));
        let error = of("4.10 5.20\n").unwrap_err().to_string();
        assert!(error.contains("proc/loadavg"), "{error}");
    }

    #[test]
    fn any_text_is_a_number_or_an_error() {
        testing::any_text(".{0,60}", &|text| {
            let _answer = of(text);
        });
    }
}
