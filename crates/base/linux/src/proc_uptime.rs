//! `/proc/uptime`: how long the machine has run (proc_uptime(5)).

use crate::{Error, Root, TextFile};

/// Seconds since boot; `None` where there is no such file, as in most captures.
///
/// # Errors
/// When the file is malformed.
pub fn read(root: &Root) -> Result<Option<f64>, Error> {
    let file = root.read_optional("proc/uptime")?;
    file.map(|file| parse(&file)).transpose()
}

/// `350735.47 234388.90`: seconds since boot, then idle seconds over all CPUs.
fn parse(file: &TextFile) -> Result<f64, Error> {
    let word = file.text().split_ascii_whitespace().next().unwrap_or("");
    let seconds = word.parse::<f64>().ok();
    let seconds = seconds.filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
    seconds.ok_or_else(|| file.malformed(1, "seconds since boot", word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_number_counts() {
        let of = |text| parse(&TextFile::new("/uptime", text));
        assert_eq!(of("350735.47 234388.90\n").unwrap(), 350_735.47);
        for text in ["", "x 1", "-1 1", "NaN 1", "inf 1"] {
            assert!(of(text).is_err(), "{text}");
        }
    }

    #[test]
    fn any_text_is_a_time_or_an_error() {
        testing::any_text("[-0-9.einfaN ]{0,12}\\PC{0,4}", &|text| {
            if let Ok(seconds) = parse(&TextFile::new("/uptime", text)) {
                assert!(seconds.is_finite() && seconds >= 0.0);
            }
        });
    }
}
