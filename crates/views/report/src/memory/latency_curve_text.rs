//! A depth curve as a plot in the terminal, and its cache levels next to those of the kernel.

use model::{Cache, CacheKind, CurvePoint, LatencyCurve, LatencyResult};

use crate::form::style::{Style, TextOptions};
use crate::form::table::Table;
use crate::memory::latency_figures::{pages, short_ns, size};
use crate::run::figures::UNKNOWN;

/// Rows of the plot.
const ROWS: usize = 16;

/// Columns to the left of the plot: a latency and the axis.
const MARGIN: usize = 8;

/// Maximum width of the plot: more columns than points show nothing more.
const COLUMNS_MAX: usize = 100;

/// A point of the curve.
const POINT: char = '●';

/// The size of a cache as the kernel reports it.
const CACHE: char = '┊';

/// Formats every curve of a result.
pub fn latency_curve_text(result: &LatencyResult, options: &TextOptions) -> String {
    let caches = result
        .machine
        .as_ref()
        .map(|machine| &machine.topology.caches[..]);
    let texts = result.curves.iter().map(|curve| {
        let caches = caches_of(caches.unwrap_or_default(), curve);
        let title = format!(
            "Latency by working set, from CPU {} of node {} to node {}",
            curve.cpu, curve.cpu_node, curve.memory_node
        );
        let mut text = options.heading(&title);
        text.push_str(&plot(&curve.points, &caches, options));
        text.push('\n');
        text.push_str(&levels(curve, &caches, options));
        let about = format!("With {}.", pages(curve.page_kind, curve.page_bytes));
        text.push_str(&options.paragraph("", &about, Style::Usual));
        text
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns the data caches of the CPU of a curve with a size known to the kernel, the nearest
/// first.
fn caches_of<'m>(caches: &'m [Cache], curve: &LatencyCurve) -> Vec<(&'m Cache, u64)> {
    let is_of_cpu = |cache: &&Cache| cache.kind != CacheKind::Instruction && cache.is_of(curve.cpu);
    let of_cpu = caches.iter().filter(is_of_cpu);
    let mut of_cpu: Vec<(&Cache, u64)> = of_cpu
        .filter_map(|cache| Some((cache, cache.size_bytes?)))
        .collect();
    of_cpu.sort_by_key(|(cache, _)| cache.level);
    of_cpu
}

/// Both logarithmic axes of a plot.
struct Axes {
    columns: usize,
    bytes: (f64, f64),
    ns: (f64, f64),
}

impl Axes {
    fn of(points: &[CurvePoint], options: &TextOptions) -> Option<Self> {
        let bytes = points
            .iter()
            .map(|point| (point.bytes.max(1) as f64).log2());
        let ns = points.iter().map(|point| point.ns.log2());
        let ends = |values: &mut dyn Iterator<Item = f64>| {
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            })
        };
        let (bytes, ns) = (ends(&mut bytes.clone()), ends(&mut ns.clone()));
        let room = options.columns().saturating_sub(MARGIN + 1);
        (!points.is_empty()).then_some(Axes {
            columns: room.clamp(10, COLUMNS_MAX),
            bytes,
            ns,
        })
    }

    /// Returns the column of a working set; `None` outside the plot.
    fn column(&self, bytes: u64) -> Option<usize> {
        let at = share((bytes.max(1) as f64).log2(), self.bytes)?;
        Some((at * (self.columns - 1) as f64).round() as usize)
    }

    /// Returns the row of a latency, from the top.
    fn row(&self, ns: f64) -> Option<usize> {
        let at = share(ns.log2(), self.ns)?;
        Some(ROWS - 1 - (at * (ROWS - 1) as f64).round() as usize)
    }

    /// Returns the latency in the middle of a row.
    fn ns_of(&self, row: usize) -> f64 {
        let at = (ROWS - 1 - row) as f64 / (ROWS - 1) as f64;
        (self.ns.0 + at * (self.ns.1 - self.ns.0)).exp2()
    }
}

/// Returns the relative position of `value` between both ends; `None` outside.
fn share(value: f64, (low, high): (f64, f64)) -> Option<f64> {
    if high <= low {
        return (value == low).then_some(0.0);
    }
    let at = (value - low) / (high - low);
    (0.0..=1.0).contains(&at).then_some(at)
}

fn plot(points: &[CurvePoint], caches: &[(&Cache, u64)], options: &TextOptions) -> String {
    let fit = |point: &&CurvePoint| point.ns.is_finite() && point.ns > 0.0;
    let points: Vec<CurvePoint> = points.iter().filter(fit).copied().collect();
    let Some(axes) = Axes::of(&points, options) else {
        return "No point was measured.\n".to_owned();
    };
    let mut field = vec![vec![' '; axes.columns]; ROWS];
    for (_, bytes) in caches {
        if let Some(column) = axes.column(*bytes) {
            field.iter_mut().for_each(|row| row[column] = CACHE);
        }
    }
    for point in &points {
        if let (Some(column), Some(row)) = (axes.column(point.bytes), axes.row(point.ns)) {
            field[row][column] = POINT;
        }
    }
    let mut text = names_of_caches(&axes, caches);
    let width = MARGIN - 2;
    for (number, row) in field.iter().enumerate() {
        // Every third row from the top has a latency label, and so does the last.
        let is_labelled = number.is_multiple_of(3) || number == ROWS - 1;
        let label = if is_labelled {
            short_ns(axes.ns_of(number))
        } else {
            String::new()
        };
        let row: String = row.iter().collect();
        text.push_str(format!("{label:>width$} │{row}").trim_end());
        text.push('\n');
    }
    let under = " ".repeat(width + 1);
    text.push_str(&format!("{under}└{}\n", "─".repeat(axes.columns)));
    text.push_str(&labels_of_sizes(&axes));
    text
}

/// Returns the line of `L1`, `L2` above their columns.
fn names_of_caches(axes: &Axes, caches: &[(&Cache, u64)]) -> String {
    let labels = caches
        .iter()
        .filter_map(|(cache, bytes)| Some((axes.column(*bytes)?, format!("L{}", cache.level))));
    let line = line_of_labels(axes, labels);
    if line.trim().is_empty() {
        String::new()
    } else {
        line
    }
}

/// Returns the line of sizes under every fifth octave.
fn labels_of_sizes(axes: &Axes) -> String {
    let octaves = (axes.bytes.0.ceil() as u32)..=(axes.bytes.1.floor() as u32).min(63);
    let every_fifth = octaves.filter(|octave| octave.is_multiple_of(5));
    let labels = every_fifth.filter_map(|octave| {
        let bytes = 1u64 << octave;
        Some((axes.column(bytes)?, size(bytes)))
    });
    line_of_labels(axes, labels)
}

/// Returns a line of labels, each starting at its column; a label that would overlap another is
/// omitted.
fn line_of_labels(axes: &Axes, labels: impl Iterator<Item = (usize, String)>) -> String {
    let mut line: Vec<char> = vec![' '; MARGIN + axes.columns + 12];
    let mut free_from = 0;
    for (column, label) in labels {
        let begin = MARGIN + column;
        let end = begin + label.chars().count();
        if begin < free_from || end > line.len() {
            continue;
        }
        for (place, letter) in line[begin..end].iter_mut().zip(label.chars()) {
            *place = letter;
        }
        free_from = end + 1;
    }
    let line: String = line.into_iter().collect();
    format!("{}\n", line.trim_end())
}

/// Formats the levels of the curve, each next to the kernel's cache of the same number.
fn levels(curve: &LatencyCurve, caches: &[(&Cache, u64)], options: &TextOptions) -> String {
    let mut table = Table::of("level|>ns|>fits up to|the kernel says");
    let last = curve.levels.len().saturating_sub(1);
    for (number, level) in curve.levels.iter().enumerate() {
        let is_memory = number == last && number > 0;
        let name = if is_memory {
            "memory".to_owned()
        } else {
            format!("cache {}", number + 1)
        };
        let cache = caches.get(number).filter(|_| !is_memory);
        let cells = [
            name,
            short_ns(level.ns),
            level.fits_bytes.map_or(UNKNOWN.to_owned(), size),
            cache.map_or(UNKNOWN.to_owned(), |(cache, bytes)| {
                format!("L{}: {}", cache.level, size(*bytes))
            }),
        ];
        table.row(cells);
    }
    let mut text = table.text(options);
    let missing = caches
        .iter()
        .skip(last)
        .map(|(cache, bytes)| format!("L{} of {}", cache.level, size(*bytes)));
    let missing: Vec<String> = missing.collect();
    if !missing.is_empty() {
        let note = format!("Not found in the curve: {}.", missing.join(", "));
        text.push_str(&options.paragraph("", &note, Style::Care));
    }
    text
}
