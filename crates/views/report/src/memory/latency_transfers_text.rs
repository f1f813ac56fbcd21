//! Transfers between CPUs as a heat map in the terminal.

use model::{LatencyResult, TransferMatrix};

use crate::form::style::{Style, TextOptions};
use crate::memory::latency_figures::short_ns;

/// Shades from the fastest to the slowest.
const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];

/// Background colours from green to red, from the terminal's 256 colours (ECMA-48, and xterm's
/// colour cube: 16 + 36 red + 6 green + blue).
const COLOURS: [u8; 5] = [22, 64, 100, 130, 124];

/// Formats every matrix of transfers of a result.
pub fn latency_transfers_text(result: &LatencyResult, options: &TextOptions) -> String {
    let texts = result.transfers.iter().map(|matrix| map(matrix, options));
    texts.collect::<Vec<_>>().join("\n")
}

/// The range of figures, divided into shades of equal width.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn of(matrix: &TransferMatrix) -> Option<Self> {
        let figures = matrix.ns.iter().flatten().flatten();
        let figures = figures.filter(|ns| ns.is_finite());
        let (low, high) = figures.fold((f64::INFINITY, 0.0f64), |(low, high), ns| {
            (low.min(*ns), high.max(*ns))
        });
        (low <= high).then_some(Scale { low, high })
    }

    fn shade(&self, ns: f64) -> usize {
        if self.high <= self.low {
            return 0;
        }
        let share = (ns - self.low) / (self.high - self.low);
        ((share * SHADES.len() as f64) as usize).min(SHADES.len() - 1)
    }

    /// Returns the lower bound of a shade.
    fn begin(&self, shade: usize) -> f64 {
        self.low + (self.high - self.low) * shade as f64 / SHADES.len() as f64
    }
}

fn map(matrix: &TransferMatrix, options: &TextOptions) -> String {
    let title = format!(
        "Cache line from CPU (row) to CPU (column), one way in ns; its home is node {}",
        matrix.home_node
    );
    let mut text = options.heading(&title);
    let Some(scale) = Scale::of(matrix) else {
        text.push_str("No transfer was measured.\n");
        return text;
    };
    let heading = matrix
        .cpus
        .iter()
        .map(|cpu| cpu.to_string().len())
        .max()
        .unwrap_or(1);
    let with_figures = short_ns(scale.high).len().max(heading) + 2;
    let room = options.columns().saturating_sub(heading);
    // Show figures if a whole row fits on a line, otherwise only shades.
    let width = if with_figures * matrix.cpus.len() <= room {
        with_figures
    } else {
        1
    };
    let in_block = (room.saturating_sub(1) / width).max(1);
    for first in (0..matrix.cpus.len()).step_by(in_block) {
        let columns = first..matrix.cpus.len().min(first + in_block);
        text.push_str(&headings(matrix, columns.clone(), heading, width));
        for (cpu, row) in matrix.cpus.iter().zip(&matrix.ns) {
            let row = row.get(columns.clone()).unwrap_or_default();
            let cells = row.iter().map(|ns| cell(*ns, &scale, width, options));
            let cells: String = cells.collect();
            text.push_str(format!("{:>heading$} {cells}", cpu.to_string()).trim_end());
            text.push('\n');
        }
    }
    text.push_str(&legend(&scale, options));
    text
}

/// Returns the CPU numbers above their columns; with shades only, every tenth number.
fn headings(
    matrix: &TransferMatrix,
    columns: std::ops::Range<usize>,
    heading: usize,
    width: usize,
) -> String {
    let cpus = &matrix.cpus[columns];
    let start = " ".repeat(heading + 1);
    if width > 1 {
        let labels = cpus
            .iter()
            .map(|cpu| format!("{:>width$}", cpu.to_string()));
        return start + &labels.collect::<String>() + "\n";
    }
    let tens = cpus
        .iter()
        .step_by(10)
        .map(|cpu| format!("{:<10}", cpu.to_string()));
    let line = start + &tens.collect::<String>();
    format!("{}\n", line.trim_end())
}

fn cell(ns: Option<f64>, scale: &Scale, width: usize, options: &TextOptions) -> String {
    let Some(ns) = ns.filter(|ns| ns.is_finite()) else {
        return format!("{:>width$}", " ");
    };
    let shade = scale.shade(ns);
    let shown = if width > 1 {
        format!("{}{}", short_ns(ns), SHADES[shade])
    } else {
        SHADES[shade].to_string()
    };
    let padded = format!("{shown:>width$}");
    if options.color {
        return format!("\u{1b}[48;5;{}m{padded}\u{1b}[0m", COLOURS[shade]);
    }
    padded
}

fn legend(scale: &Scale, options: &TextOptions) -> String {
    let parts = SHADES
        .iter()
        .enumerate()
        .map(|(shade, mark)| format!("{mark} from {}", short_ns(scale.begin(shade))));
    let parts: Vec<String> = parts.collect();
    let text = format!("{}; the most {} ns", parts.join(", "), short_ns(scale.high));
    options.paragraph("", &text, Style::Usual)
}
