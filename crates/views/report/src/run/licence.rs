//! Throughput and price per licence, as article 004 computes them.

use model::Run;
use serde::Serialize;
use verdict::{judge, order};

use crate::form::plain::plain_within;
use crate::form::style::{Style, TextOptions};
use crate::form::table::Table;
use crate::run::figures::{UNKNOWN, decimals};
use crate::run::ranking::NAME_COLUMNS;

/// The terms by which licences are counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LicenceTerms {
    /// Licences per core: 0.5 for most x86 processors in Oracle's table.
    pub core_factor: f64,
    /// Price of a licence, in any currency.
    pub price: Option<f64>,
}

/// The throughput and price of one case per licence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Licensed {
    /// Cores that must be licensed.
    pub cores: u32,
    /// Licences: cores times factor, rounded up.
    pub licences: u64,
    /// Throughput of the case over the number of licences.
    pub per_licence: f64,
    /// Price of all licences.
    pub price: Option<f64>,
    /// Price over throughput of the case.
    pub price_per_unit: Option<f64>,
}

impl LicenceTerms {
    /// Computes the licences for `value` per second on this many cores. Returns `None` where no
    /// licence is needed, such as for 0 cores.
    pub fn of(&self, value: f64, cores: u32) -> Option<Licensed> {
        // A factor is a printed decimal: 8 × 0.1 × 10 must not become 9 licences by binary
        // rounding.
        let exact = f64::from(cores) * self.core_factor;
        let licences = (exact - exact * 1e-9).ceil();
        if licences < 1.0 {
            return None;
        }
        let price = self.price.map(|price| price * licences);
        Some(Licensed {
            cores,
            licences: licences as u64,
            per_licence: value / licences,
            price,
            price_per_unit: price.map(|price| price / value).filter(|it| it.is_finite()),
        })
    }
}

/// The figures per licence of one case of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaseLicensed {
    /// Name of the case.
    pub case: String,
    /// Its figures per licence; `None` without a valid trial.
    #[serde(flatten)]
    pub licensed: Option<Licensed>,
}

/// Returns the figures per licence of the cases of a run, on a machine with this many cores.
pub fn licensed_cases(run: &Run, terms: &LicenceTerms, cores: u32) -> Vec<CaseLicensed> {
    let judgement = judge(run);
    let cases = order(run, &judgement).into_iter();
    let cases = cases.map(|index| &judgement.cases[index]);
    let licensed = cases.map(|case| CaseLicensed {
        case: case.name.clone(),
        licensed: case.median.and_then(|median| terms.of(median, cores)),
    });
    licensed.collect()
}

/// Formats these figures as a table.
pub fn licences_text(cases: &[CaseLicensed], options: &TextOptions) -> String {
    let mut table = licence_table();
    for case in cases {
        table.push(licence_row(&case.case, case.licensed));
    }
    table.text(options)
}

/// Creates a table of licences without rows.
pub(crate) fn licence_table() -> Table {
    Table::of("case|>cores|>licences|>per licence|>price|>price per 1,000/s")
}

/// Returns a row of the table of licences.
pub(crate) fn licence_row(name: &str, licensed: Option<Licensed>) -> Vec<(String, Style)> {
    let of = |text: &dyn Fn(Licensed) -> Option<String>| {
        let text = licensed.and_then(text);
        (text.unwrap_or_else(|| UNKNOWN.to_string()), Style::Usual)
    };
    vec![
        (plain_within(name, NAME_COLUMNS), Style::Usual),
        of(&|it| Some(it.cores.to_string())),
        of(&|it| Some(it.licences.to_string())),
        of(&|it| Some(per_licence_text(it.per_licence))),
        of(&|it| Some(decimals(it.price?, 0))),
        of(&|it| Some(decimals(1000.0 * it.price_per_unit?, 2))),
    ]
}

/// Formats a figure per licence as the article does: the fraction is dropped.
pub(crate) fn per_licence_text(figure: f64) -> String {
    decimals(figure.floor(), 0)
}

#[cfg(test)]
mod tests {
    use super::{LicenceTerms, per_licence_text};

    const ORACLE: LicenceTerms = LicenceTerms {
        core_factor: 0.5,
        price: Some(60_000.0),
    };

    /// Kevin Closson, "AMD Quad-Core Barcelona Processor For Oracle (Part V)": TPC-C results by
    /// cores and licences. His list price is 60,000 dollars per licence.
    #[test]
    fn the_figures_of_article_004_are_met_to_the_digit() {
        for (value, cores, licences, per_licence) in [
            (139_693.0, 4, 2, "69,846"),
            (222_117.0, 8, 4, "55,529"),
            (237_478.0, 8, 4, "59,369"),
            (310_963.0, 8, 4, "77,740"),
            (331_087.0, 8, 4, "82,771"),
        ] {
            let found = ORACLE.of(value, cores).unwrap();
            assert_eq!(found.licences, licences);
            assert_eq!(per_licence_text(found.per_licence), per_licence);
            assert_eq!(found.price, Some(60_000.0 * licences as f64));
        }
    }

    #[test]
    fn licences_are_rounded_up_and_a_quad_core_is_two() {
        let licences = |cores, core_factor| {
            let terms = LicenceTerms {
                core_factor,
                price: None,
            };
            terms.of(1.0, cores).map(|it| it.licences)
        };
        assert_eq!(licences(4, 0.5), Some(2));
        assert_eq!(licences(1, 0.5), Some(1));
        assert_eq!(licences(3, 0.5), Some(2));
        assert_eq!(licences(10, 0.1), Some(1));
        assert_eq!(licences(0, 0.5), None);
    }
}
