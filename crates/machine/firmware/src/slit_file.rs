//! A SLIT from a file: the table itself (`/sys/firmware/acpi/tables/SLIT`), what `iasl -d`
//! makes of it, or its bytes in hexadecimal, as acpidump, xxd and hexdump print them.
//!
//! ```text
//! [000h 0000 004h]                   Signature : "SLIT"    [System Locality Information Table]
//! [024h 0036 008h]                  Localities : 0000000000000002
//! [02Ch 0044 002h]                Locality   0 : 0A 15
//! [02Eh 0046 002h]                Locality   1 : 15 0A
//! ```
//!
//! ```text
//! SLIT @ 0x000000007FFE1000
//!     0000: 53 4C 49 54 30 00 00 00 01 6C 42 4F 43 48 53 20  SLIT0....lBOCHS
//! ```

use model::{DistanceTable, NodeId, counted};

use crate::Error;
use crate::slit::{SIGNATURE, Slit};
use crate::system_table::SystemTable;

/// Bytes on a line of hexadecimal text.
const LINE_BYTES: usize = 16;

/// Whether a file is a SLIT in one of the forms, complete or not.
pub fn is_slit(bytes: &[u8]) -> bool {
    let text = || String::from_utf8_lossy(bytes);
    is_binary(bytes)
        || text()
            .lines()
            .any(|line| is_of_iasl(line) || starts_bytes(line))
}

/// Whether a file is the table itself, whose length has zeros.
fn is_binary(bytes: &[u8]) -> bool {
    bytes.starts_with(SIGNATURE.as_bytes()) && bytes.contains(&0)
}

/// The distances of a SLIT in one of the forms. Its proximity domains, from 0, are taken for nodes:
/// only the table SRAT says which node a domain is.
///
/// # Errors
/// When the table is cut off or malformed.
pub fn distances_of_slit(bytes: &[u8]) -> Result<DistanceTable, Error> {
    let text = String::from_utf8_lossy(bytes);
    let slit = if is_binary(bytes) {
        of_bytes(bytes)?
    } else if text.lines().any(is_of_iasl) {
        of_iasl(&text)?
    } else {
        of_bytes(&bytes_of_text(&text)?)?
    };
    let nodes: Vec<NodeId> = (0..slit.localities).filter_map(node).collect();
    let rows = slit.distances.chunks(slit.localities.max(1));
    let rows = rows.map(|row| row.iter().map(|distance| u32::from(*distance)).collect());
    DistanceTable::new(nodes, rows.collect()).ok_or_else(|| malformed("localities", "none"))
}

fn node(domain: usize) -> Option<NodeId> {
    u32::try_from(domain).ok().map(NodeId)
}

fn of_bytes(bytes: &[u8]) -> Result<Slit, Error> {
    Slit::parse(&SystemTable::parse(bytes, SIGNATURE)?)
}

fn is_of_iasl(line: &str) -> bool {
    let (_, signature) = line.split_once("Signature :").unwrap_or_default();
    signature.trim_start().starts_with("\"SLIT\"")
}

/// The rows that iasl writes. A row of more than sixteen bytes goes on in the next line, after a
/// backslash.
fn of_iasl(text: &str) -> Result<Slit, Error> {
    let mut count: Option<usize> = None;
    let mut distances = Vec::new();
    let mut goes_on = false;
    for line in text.lines() {
        // What follows repeats the table as bytes.
        if line.starts_with("Raw Table Data") {
            break;
        }
        let line = line.trim();
        let without_place = line.strip_prefix('[').and_then(|it| it.split_once(']'));
        let line = without_place.map_or(line, |(_, rest)| rest.trim());
        let (name, value) = match line.split_once(':') {
            Some((name, value)) => (name.trim(), value),
            None => ("", line),
        };
        if name == "Localities" {
            count = usize::from_str_radix(value.trim(), 16).ok();
        }
        let is_row = name
            .strip_prefix("Locality")
            .is_some_and(|of| of.trim().parse::<u32>().is_ok());
        if is_row || goes_on && name.is_empty() {
            let (row, continued) = match value.trim().strip_suffix('\\') {
                Some(row) => (row, true),
                None => (value.trim(), false),
            };
            for word in row.split_whitespace() {
                let byte = u8::from_str_radix(word, 16);
                distances.push(byte.map_err(|_| malformed("a distance such as 0A or 15", word))?);
            }
            goes_on = continued;
        }
    }
    let count = count.ok_or_else(|| malformed("a line \"Localities\"", "none"))?;
    match count.checked_mul(count) == Some(distances.len()) {
        true => Ok(Slit {
            localities: count,
            distances,
        }),
        false => Err(malformed(
            &format!("the distances of {}", counted(count, "locality")),
            &counted(distances.len(), "distance"),
        )),
    }
}

/// The bytes of the table's lines; the text beside them is left out.
fn bytes_of_text(text: &str) -> Result<Vec<u8>, Error> {
    let lines = text.lines().skip_while(|line| !starts_bytes(line));
    let mut bytes: Vec<u8> = Vec::new();
    let mut length = LINE_BYTES;
    for line in lines {
        bytes.extend(hexadecimal(line, LINE_BYTES.min(length - bytes.len())));
        if let Some((_, [a, b, c, d])) = bytes.get(..8).and_then(|head| head.split_last_chunk()) {
            // Four bytes behind the signature (ACPI 6.5, 5.2.6).
            length = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
        }
        if bytes.len() >= length {
            break;
        }
    }
    match bytes.is_empty() {
        true => Err(malformed("the bytes of a table", "none")),
        false => Ok(bytes),
    }
}

/// Whether a line has the first bytes of the table.
fn starts_bytes(line: &str) -> bool {
    hexadecimal(line, SIGNATURE.len()) == SIGNATURE.as_bytes()
}

/// At most so many bytes of a line, behind its place: pairs of digits, or several pairs in a word.
fn hexadecimal(line: &str, most: usize) -> Vec<u8> {
    let words = line.split_whitespace();
    let is_place = |(index, word): &(usize, &str)| {
        *index == 0 && (word.ends_with(':') || word.len() == 8 || word.len() == 7)
    };
    let words = words.enumerate().filter(|it| !is_place(it));
    let mut bytes = Vec::new();
    for (_, word) in words {
        let is_pairs = word.len() % 2 == 0 && word.bytes().all(|it| it.is_ascii_hexdigit());
        if !is_pairs {
            break;
        }
        let pairs = (0..word.len()).step_by(2);
        let pairs = pairs.filter_map(|at| u8::from_str_radix(&word[at..at + 2], 16).ok());
        bytes.extend(pairs);
        if bytes.len() >= most {
            break;
        }
    }
    bytes.truncate(most);
    bytes
}

fn malformed(expected: &str, found: &str) -> Error {
    Error::Malformed {
        table: SIGNATURE.to_owned(),
        expected: expected.to_owned(),
        found: found.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::system_table::Maker;

    const MAKER: Maker = Maker {
        oem_id: *b"BOCHS ",
        oem_table_id: *b"BXPC    ",
        oem_revision: 1,
    };

    fn table(count: usize) -> (Slit, Vec<u8>) {
        let distance = |at: usize| {
            if at / count == at % count {
                10
            } else {
                20 + (at % 7) as u8
            }
        };
        let slit = Slit {
            localities: count,
            distances: (0..count * count).map(distance).collect(),
        };
        let bytes = slit.build(&MAKER);
        (slit, bytes)
    }

    fn lines(bytes: &[u8], line: impl Fn(usize, &[u8]) -> String) -> String {
        let lines = bytes.chunks(16).enumerate();
        lines
            .map(|(index, chunk)| line(16 * index, chunk))
            .collect()
    }

    fn spaced(bytes: &[u8]) -> String {
        let words: Vec<String> = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
        words.join(" ")
    }

    fn letters(bytes: &[u8]) -> String {
        let shown = |byte: &u8| match byte {
            b' '..=b'~' => char::from(*byte),
            _ => '.',
        };
        bytes.iter().map(shown).collect()
    }

    /// What acpidump, xxd and hexdump print of bytes.
    fn texts(bytes: &[u8]) -> [String; 3] {
        let acpidump = lines(bytes, |at, it| {
            format!("    {at:04X}: {:<47}  {}\n", spaced(it), letters(it))
        });
        let xxd = lines(bytes, |at, it| {
            let pairs: String = it
                .chunks(2)
                .map(|two| spaced(two).replace(' ', "") + " ")
                .collect();
            format!("{at:08x}: {:<40} {}\n", pairs.to_lowercase(), letters(it))
        });
        let hexdump = lines(bytes, |at, it| {
            let (first, last) = it.split_at(it.len().min(8));
            let two = format!("{}  {}", spaced(first), spaced(last)).to_lowercase();
            format!("{at:08x}  {two:<49} |{}|\n", letters(it))
        });
        [
            format!("APIC @ 0x0\n    0000: 41 50\n\nSLIT @ 0x7F\n{acpidump}\n"),
            xxd,
            hexdump,
        ]
    }

    fn iasl(slit: &Slit) -> String {
        let mut text = format!(
            "[000h 0000 004h]  Signature : \"SLIT\"    [System Locality Information Table]\n\
             [024h 0036 008h]  Localities : {:016X}\n",
            slit.localities
        );
        for (index, row) in slit.distances.chunks(slit.localities).enumerate() {
            let lines: Vec<String> = row.chunks(16).map(spaced).collect();
            let row = lines.join(" \\\n[03Ch 0060 010h] ");
            text.push_str(&format!("[02Ch 0044 004h]  Locality {index:3} : {row}\n"));
        }
        text + "\nRaw Table Data: Length 60 (0x3C)\n\n    0000: 53 4C 49 54\n"
    }

    #[test]
    fn every_form_is_the_same_table() {
        for count in [1, 2, 4, 20, 40] {
            let (slit, bytes) = table(count);
            let expected = distances_of_slit(&bytes).unwrap();
            assert_eq!(expected.cells().count(), count * count);
            let texts = texts(&bytes).into_iter().chain([iasl(&slit)]);
            for text in texts {
                assert!(is_slit(text.as_bytes()), "{text}");
                let found = distances_of_slit(text.as_bytes());
                assert_eq!(found.as_ref(), Ok(&expected), "{text}");
            }
        }
    }

    #[test]
    fn what_is_cut_off_is_refused_and_other_text_is_no_slit() {
        let (slit, bytes) = table(4);
        assert!(distances_of_slit(&bytes[..bytes.len() - 1]).is_err());
        let [acpidump, ..] = texts(&bytes);
        assert!(distances_of_slit(acpidump.rsplit_once("0030:").unwrap().0.as_bytes()).is_err());
        let text = iasl(&slit).replace("Locality   3", "Locality   x");
        let error = distances_of_slit(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("the distances of 4 localities"), "{error}");
        for text in ["10 21\n21 10\n", "node 0 1\n0: 10 21\n", "", "SLIT\n"] {
            assert!(!is_slit(text.as_bytes()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, text in "(SLIT|53 4C 49 54 |[0-9A-F :\n\\\\]){0,40}") {
            for bytes in [&bytes[..], text.as_bytes()] {
                let _ = (is_slit(bytes), distances_of_slit(bytes));
            }
        }
    }
}
