//! The forms in which other programs write text files: UTF-16 (Excel's "Unicode text", PowerShell's
//! `>`), a byte order mark, and line breaks of a single CR.

/// The text of a file that a user names as UTF-8 with line breaks of LF or CR LF. Bytes that are
/// none of the forms above stay as they are, also where they are not UTF-8.
pub fn plain_text(bytes: Vec<u8>) -> Vec<u8> {
    let mut bytes = match bytes.as_slice() {
        [0xef, 0xbb, 0xbf, text @ ..] => text.to_vec(),
        [0xff, 0xfe, text @ ..] => utf_16(text, u16::from_le_bytes),
        [0xfe, 0xff, text @ ..] => utf_16(text, u16::from_be_bytes),
        // Without a mark: text in ASCII has a NUL beside each letter, and UTF-8 has none.
        [first, 0, _, 0, ..] if *first != 0 => utf_16(&bytes, u16::from_le_bytes),
        [0, first, 0, _, ..] if *first != 0 => utf_16(&bytes, u16::from_be_bytes),
        _ => bytes,
    };
    if !bytes.contains(&b'\n') {
        for byte in bytes.iter_mut().filter(|byte| **byte == b'\r') {
            *byte = b'\n';
        }
    }
    bytes
}

fn utf_16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Vec<u8> {
    let (pairs, half) = bytes.as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
    let mut text = String::from_utf16_lossy(&units);
    // Half a character is a cut-off file.
    text.extend((!half.is_empty()).then_some(char::REPLACEMENT_CHARACTER));
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "case,figure\nné,1\n";

    fn units(mark: bool, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        let mark = mark.then_some('\u{feff}').into_iter();
        let text: String = mark.chain(TEXT.chars()).collect();
        text.encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn every_form_is_the_same_text() {
        let marked = format!("\u{feff}{TEXT}").into_bytes();
        let old = TEXT.replace('\n', "\r").into_bytes();
        let forms = [
            TEXT.as_bytes().to_vec(),
            marked,
            old,
            units(true, u16::to_le_bytes),
            units(true, u16::to_be_bytes),
            units(false, u16::to_le_bytes),
            units(false, u16::to_be_bytes),
        ];
        for form in forms {
            assert_eq!(plain_text(form), TEXT.as_bytes());
        }
        assert_eq!(plain_text(b"a\r\nb\r\n".to_vec()), b"a\r\nb\r\n");
        assert_eq!(plain_text(b"\xff\xfea\0b".to_vec()), "a\u{fffd}".as_bytes());
        assert_eq!(plain_text(b"\x89\xff".to_vec()), b"\x89\xff");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = plain_text(bytes);
        }
    }
}
