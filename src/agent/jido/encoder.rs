//! Encodes JSON like JidoCode, byte for byte like Jason's pretty printer.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::agent::jido::encode_error::{EncodeError, MAX_DEPTH, MAX_KEYS, Unsupported};
use crate::agent::jido::records::{LoadError, string, walk};

/// Writes JSON like `Jason.encode!(value, pretty: true)` for the result of `Jason.decode!`.
pub(super) struct Encoder<'a, W> {
    pub(super) out: &'a mut W,
    /// The JSON of a signature to insert at the top level, replacing the document's own.
    pub(super) signature: Option<&'a str>,
}

impl<W: FnMut(&[u8])> Encoder<'_, W> {
    pub(super) fn value(&mut self, json: &str, depth: usize) -> Result<(), EncodeError> {
        match json.as_bytes() {
            [b'{' | b'[', ..] if depth == MAX_DEPTH => return Err(Unsupported::Deep.into()),
            [b'{', ..] => self.object(json, depth)?,
            [b'[', ..] => self.list(json, depth)?,
            // Without an escape, both encodings are equal.
            [b'"', ..] if memchr::memchr(b'\\', json.as_bytes()).is_none() => (self.out)(json.as_bytes()),
            [b'"', ..] => self.string(&string(json)?.unwrap_or_default()),
            [b'-' | b'0'..=b'9', ..] => (self.out)(number(json)?.as_bytes()),
            _ => (self.out)(json.as_bytes()),
        }
        Ok(())
    }

    fn object(&mut self, json: &str, depth: usize) -> Result<(), EncodeError> {
        // Rust sorts strings by their bytes, and so does Erlang. If two keys are equal, Jason keeps the first value.
        let mut members = BTreeMap::new();
        walk(json, |key, value: &str| {
            if depth > 0 || key != "signature" {
                members.entry(key).or_insert(value);
            }
            match members.len() {
                ..=MAX_KEYS => Ok(()),
                _ => Err(EncodeError::from(Unsupported::ManyKeys)),
            }
        })?;
        if let Some(signature) = self.signature.filter(|_| depth == 0) {
            members.insert(Cow::Borrowed("signature"), signature);
        }
        let mut separator: &[u8] = b"{";
        for (key, value) in &members {
            (self.out)(separator);
            self.line(depth + 1);
            self.string(key);
            (self.out)(b": ");
            self.value(value, depth + 1)?;
            separator = b",";
        }
        self.close(members.is_empty(), b"{}", depth);
        Ok(())
    }

    fn list(&mut self, json: &str, depth: usize) -> Result<(), EncodeError> {
        let mut is_empty = true;
        walk(json, |_, value| {
            (self.out)(if is_empty { b"[" } else { b"," });
            is_empty = false;
            self.line(depth + 1);
            self.value(value, depth + 1)
        })?;
        self.close(is_empty, b"[]", depth);
        Ok(())
    }

    fn close(&mut self, is_empty: bool, brackets: &[u8; 2], depth: usize) {
        if is_empty {
            (self.out)(brackets);
        } else {
            self.line(depth);
            (self.out)(&brackets[1..]);
        }
    }

    fn line(&mut self, depth: usize) {
        (self.out)(b"\n");
        (self.out)(&[b' '; 2 * MAX_DEPTH][..2 * depth]);
    }

    fn string(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let mut written = 0;
        (self.out)(b"\"");
        for (at, byte) in bytes.iter().enumerate() {
            let control;
            let escape: &[u8] = match byte {
                b'"' => b"\\\"",
                b'\\' => b"\\\\",
                b'\n' => b"\\n",
                b'\t' => b"\\t",
                b'\r' => b"\\r",
                0x08 => b"\\b",
                0x0C => b"\\f",
                0x00..0x20 => {
                    control = format!("\\u{byte:04X}");
                    control.as_bytes()
                }
                _ => continue,
            };
            (self.out)(&bytes[written..at]);
            (self.out)(escape);
            written = at + 1;
        }
        (self.out)(&bytes[written..]);
        (self.out)(b"\"");
    }
}

/// Writes a number like Elixir. Integers have any length there; only `-0` is not kept and becomes `0`.
pub(super) fn number(json: &str) -> Result<Cow<'_, str>, LoadError> {
    if !json.contains(['.', 'e', 'E']) {
        return Ok(Cow::Borrowed(if json == "-0" { "0" } else { json }));
    }
    // serde_json's parser is not sufficient: without `float_roundtrip` its last bit may differ.
    let float = json.parse().ok().and_then(short);
    float.map(Cow::Owned).ok_or_else(|| LoadError::InvalidJson(format!("{json} is beyond any float")))
}

/// Formats a float like Erlang's `float_to_binary(Float, [short])`; `None` for infinity.
///
/// The digits are the fewest that parse to the same float. They are written in full, or with an exponent if that is
/// shorter, and from 2^53 on always with an exponent. The algorithm is `to_chars` in erts/emulator/ryu of Erlang/OTP
/// 25; the cases below are its results.
pub(super) fn short(float: f64) -> Option<String> {
    const FIRST_INEXACT: f64 = 9_007_199_254_740_992.0;
    // Not `{:e}`: if two candidates are equally near, the standard library takes the larger one, Erlang and serde_json
    // the even one.
    let text = serde_json::Number::from_f64(float)?.to_string();
    let (sign, text) = text.strip_prefix('-').map_or(("", text.as_str()), |text| ("-", text));
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat();
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some(format!("{sign}0.0"));
    }
    // The position of the decimal point relative to the digits; it may be outside of them.
    let point = exponent.parse::<isize>().ok()? + digits.len() as isize - fraction.len() as isize;
    let digits = digits.trim_end_matches('0');
    let plain = match usize::try_from(point) {
        Ok(point) if point >= digits.len() => format!("{digits:0<point$}.0"),
        Ok(point) if point > 0 => format!("{}.{}", &digits[..point], &digits[point..]),
        _ => format!("0.{}{digits}", "0".repeat(point.unsigned_abs())),
    };
    let (first, rest) = digits.split_at(1);
    let rest = if rest.is_empty() { "0" } else { rest };
    let scientific = format!("{first}.{rest}e{}", point - 1);
    let is_plain = plain.len() <= scientific.len() && float.abs() < FIRST_INEXACT;
    let text = if is_plain { plain } else { scientific };
    Some(format!("{sign}{text}"))
}
