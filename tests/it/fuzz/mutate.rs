//! Changes that a damaged disk, a killed writer, another version or an attacker make to a file, by a seed.

use serde_json::Value;

/// A generator of numbers that are the same for every run of a seed.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below another one; 0 if there is none.
    pub(super) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end.max(1)).expect("a length");
        usize::try_from(self.next() % end).expect("a length")
    }

    pub(super) fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        let at = self.below(all.len());
        &all[at]
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }
}

/// Returns a replacement for a value, as JSON.
fn odd_value(random: &mut Random) -> Vec<u8> {
    const PLAIN: [&str; 34] = [
        "null",
        "true",
        "false",
        "0",
        "-1",
        "1e308",
        "-1e999",
        "9223372036854775807",
        "-9223372036854775808",
        "18446744073709551616",
        "0.1",
        "[]",
        "{}",
        "[null]",
        "[[]]",
        "[{\"type\":\"text\",\"text\":7}]",
        "{\"a\":{\"b\":[1]}}",
        "\"\"",
        "\" \"",
        "\"x\"",
        "\"\\u0000\"",
        "\"\\ud800\"",
        "\"\\u001b[2J\\u202e\"",
        "\"2100-01-01T00:00:00Z\"",
        "\"9999-12-31T23:59:59.999999999Z\"",
        "\"-262143-01-01T00:00:00Z\"",
        "\"../../../../etc/passwd\"",
        "\"/\"",
        "\"relative\"",
        "\"--help\"",
        "\"a\\nb\"",
        "4102444800",
        "4102444800000",
        "\"\u{feff}ä日本🚀\"",
    ];
    match random.below(48) {
        0 => format!("\"{}\"", "long ".repeat(100_000)).into_bytes(),
        1 => "[".repeat(200).into_bytes(),
        2 => [vec![b'['; 50_000], vec![b']'; 50_000]].concat(),
        3 => format!("{}1{}", "{\"a\":".repeat(120), "}".repeat(120)).into_bytes(),
        4 => b"\"\xff\xfe\xc3\"".to_vec(),
        5 => b"\"\0\"".to_vec(),
        6 => format!("[{}0]", "0,".repeat(50_000)).into_bytes(),
        7 => format!("{}.5", "9".repeat(5000)).into_bytes(),
        8 => format!("\"/{}\"", "d/".repeat(5000)).into_bytes(),
        9 => b"".to_vec(),
        _ => random.one_of(&PLAIN).as_bytes().to_vec(),
    }
}

/// Returns the path of every part of a value.
fn places(value: &Value) -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    let mut add = |key: String, part: &Value| {
        for mut place in places(part) {
            place.insert(0, key.clone());
            all.push(place);
        }
    };
    match value {
        Value::Array(list) => list.iter().enumerate().for_each(|(at, part)| add(at.to_string(), part)),
        Value::Object(map) => map.iter().for_each(|(key, part)| add(key.clone(), part)),
        _ => {}
    }
    all
}

fn part<'v>(value: &'v mut Value, place: &[String]) -> Option<&'v mut Value> {
    place.iter().try_fold(value, |value, key| match value {
        Value::Array(list) => list.get_mut(key.parse::<usize>().ok()?),
        Value::Object(map) => map.get_mut(key),
        _ => None,
    })
}

/// Changes one part of a JSON value: removes, duplicates or replaces it.
fn json(text: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    const HOLE: &str = "@@HOLE@@";
    let mut value: Value = serde_json::from_slice(text).ok()?;
    let all = places(&value);
    let place = random.one_of(&all).clone();
    let how = random.below(8);
    if let Some((key, above)) = place.split_last()
        && how == 0
    {
        match part(&mut value, above)? {
            Value::Array(list) => drop(list.remove(key.parse().ok()?)),
            Value::Object(map) => drop(map.remove(key)),
            _ => return None,
        }
        return Some(value.to_string().into_bytes());
    }
    let is_member = matches!(place.split_last().and_then(|(_, above)| part(&mut value, above)), Some(Value::Object(_)));
    let hole = part(&mut value, &place)?;
    let old = std::mem::replace(hole, Value::from(HOLE)).to_string();
    let mut filler = match (how, place.last()) {
        (1, Some(key)) if is_member => {
            [old.as_bytes(), b",", Value::from(key.as_str()).to_string().as_bytes(), b":"].concat()
        }
        _ => Vec::new(),
    };
    filler.extend(odd_value(random));
    let text = value.to_string();
    let (before, after) = text.split_once(&format!("\"{HOLE}\""))?;
    Some([before.as_bytes(), &filler, after.as_bytes()].concat())
}

/// Changes lines: removes, duplicates, moves, truncates or replaces one.
fn lines(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let at = random.below(lines.len());
    match random.below(12) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(at, lines[at].clone()),
        2 => {
            let other = random.below(lines.len());
            lines.swap(at, other);
        }
        3 => {
            let end = random.below(lines[at].len());
            lines[at].truncate(end);
        }
        4 => lines.insert(at, odd_value(random)),
        5 => (0..5000).for_each(|_| lines.insert(at, b"{}".to_vec())),
        _ => {
            if let Some(changed) = json(&lines[at], random) {
                lines[at] = changed;
            } else {
                lines[at] = raw(&lines[at], random);
            }
        }
    }
    lines.join(&b'\n')
}

/// Changes bytes, whatever they mean.
fn raw(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let at = random.below(bytes.len());
    let end = (at + random.below(64)).min(bytes.len());
    match random.below(9) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(at..end)),
        2 => {
            let copy = bytes[at..end].to_vec();
            bytes.splice(at..at, copy);
        }
        3 => drop(bytes.splice(at..at, [0; 64])),
        4 => drop(bytes.splice(at..end, *b"\xff\xfe\xf0\x9f")),
        5 => bytes.clear(),
        6 => drop(bytes.splice(at..at, "x".repeat(300_000).into_bytes())),
        7 => bytes.fill_with(|| random.byte()),
        _ => {
            for _ in 0..=random.below(8) {
                let at = random.below(bytes.len());
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
        }
    }
    bytes
}

/// Changes the contents of a file.
pub(super) fn file(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    if random.below(4) == 0 {
        return raw(bytes, random);
    }
    match json(bytes, random) {
        Some(changed) => changed,
        None => lines(bytes, random),
    }
}

/// Changes a text that is typed, or a value of a column.
pub(super) fn word(random: &mut Random) -> Vec<u8> {
    let mut value = odd_value(random);
    if random.below(2) == 0 {
        value.retain(|byte| *byte != b'"');
    }
    value.truncate(100_000);
    value
}
