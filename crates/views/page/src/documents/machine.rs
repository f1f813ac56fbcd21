//! What a page says of the machine, and the text of a command as the terminal shows it.

use maud::{Markup, html};
use model::Machine;

use super::table::{UNKNOWN, cut};

/// Maximum number of characters of a text.
const TEXT_MAX: usize = 200_000;

/// Returns a line about the machine, and a warning where its figures say nothing.
pub(crate) fn about_machine(machine: Option<&Machine>) -> Markup {
    let Some(machine) = machine else {
        return html! { p.muted { "Machine: " (UNKNOWN) "." } };
    };
    html! {
        p.muted {
            (cut(&machine.host)) ", kernel " (cut(&machine.kernel)) ", "
            (cut(machine.cpu_model.as_deref().unwrap_or("processor unknown")))
            @if let Some(hypervisor) = &machine.hypervisor {
                ", virtual machine (" (cut(hypervisor)) ")"
            }
            ", numalab " (cut(&machine.numalab)) "."
        }
        @if machine.emulated == Some(true) {
            p.warning {
                "This machine is emulated in software: its nodes are equally far, and no speed "
                "measured on it is meaningful."
            }
        }
    }
}

/// Returns the same figures as the command prints them.
pub(crate) fn as_text(text: &str) -> Markup {
    let mut characters = text.chars();
    let start: String = characters.by_ref().take(TEXT_MAX).collect();
    html! {
        details {
            summary { "The same as text" }
            pre { (report::plain_lines(&start)) }
            @if characters.next().is_some() { p { "Left out: the rest of the text." } }
        }
    }
}
