//! `/proc/pressure/*`: the share of time in which tasks waited for a resource (kernel,
//! `Documentation/accounting/psi.rst`; since 4.20).

use crate::{Error, Root, TextFile};

/// Shares of the last ten seconds, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stall {
    /// Some task waited.
    pub some: Option<f64>,
    /// All tasks waited; absent for CPUs before 5.13.
    pub full: Option<f64>,
}

/// The pressure on `resource`: `cpu`, `memory` or `io`. `None` in a kernel that does not count it:
/// an old one, or one with `psi=0`, in which reading fails with `EOPNOTSUPP`.
///
/// # Errors
/// When the file is malformed.
pub fn read(root: &Root, resource: &str) -> Result<Option<Stall>, Error> {
    let file = root.read_optional(&format!("proc/pressure/{resource}"))?;
    file.map(|file| parse(&file)).transpose()
}

/// `some avg10=0.22 avg60=0.17 avg300=1.11 total=58761459`, then the same with `full`.
fn parse(file: &TextFile) -> Result<Stall, Error> {
    let mut stall = Stall::default();
    for (number, line) in file.lines() {
        let (name, figures) = line.split_once(' ').unwrap_or((line, ""));
        let share = match name {
            "some" => &mut stall.some,
            "full" => &mut stall.full,
            _ => continue,
        };
        let mut figures = figures.split(' ');
        let percent = figures.find_map(|figure| figure.strip_prefix("avg10="));
        let percent = percent.and_then(|percent| percent.parse::<f64>().ok());
        let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
        let percent = percent.ok_or_else(|| file.malformed(number, "avg10=PERCENT", line))?;
        *share = Some(percent / 100.0);
    }
    Ok(stall)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Stall, Error> {
        parse(&TextFile::new("/memory", text))
    }

    #[test]
    fn percent_become_shares_and_a_missing_line_is_unknown() {
        let some = "some avg10=12.50 avg60=0.17 avg300=1.11 total=58761459\n";
        let (half, full) = (Some(0.125), Some(0.005));
        assert_eq!(
            of(some).unwrap(),
            Stall {
                some: half,
                full: None
            }
        );
        let both = format!("{some}full avg10=0.50 avg60=0.13 avg300=0.96 total=57757\n");
        assert_eq!(of(&both).unwrap(), Stall { some: half, full });
    }

    #[test]
    fn what_is_no_share_is_named() {
        for text in ["some avg10=x", "some", "full avg10=101", "some avg10=NaN"] {
            let error = of(text).unwrap_err().to_string();
            assert!(error.contains("expected avg10=PERCENT"), "{error}");
        }
    }

    #[test]
    fn any_text_is_a_share_or_an_error() {
        testing::any_text(
            "((some|full|x) ?(avg10=)?[0-9.eNainf-]{0,9}( \\PC{0,5})?\n?){0,4}",
            &|text| {
                if let Ok(stall) = of(text) {
                    for share in [stall.some, stall.full].into_iter().flatten() {
                        assert!((0.0..=1.0).contains(&share));
                    }
                }
            },
        );
    }
}
