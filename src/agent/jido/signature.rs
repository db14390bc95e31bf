//! The signature of a JidoCode session file: the signed text, the key, and the check.
//!
//! JidoCode decodes the file, drops the top-level `signature`, encodes the rest with Jason and signs that text with
//! HMAC-SHA256. So spaces and the order of keys do not matter, and every value does. [`canonical`] writes the same
//! text. A signature is never reported as wrong if the text is unknown: see [`Unsupported`].

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use pbkdf2::{Algorithm, Params, pbkdf2_hmac_with_params};
use sha2::Sha256;

pub use crate::agent::jido::encode_error::{EncodeError, Unsupported};
use crate::agent::jido::encoder::Encoder;
use crate::agent::jido::records::{LoadError, document, string, walk};

/// The salts in JidoCode's builds: that of its configuration first, then the default of its code.
pub const APP_SALTS: [&str; 2] = ["jido_code_session_v1_2025", "jido_code_session_v1"];

const ROUNDS: Params = match Params::new(100_000) {
    Ok(rounds) => rounds,
    Err(_) => panic!("the key derivation takes this number of rounds"),
};

/// A key that signs sessions; it belongs to one machine with one host name.
#[derive(Clone)]
pub struct SigningKey([u8; 32]);

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// Derives the key of a machine from the text of `~/.jido_code/machine_secret`, untrimmed, and the short host name.
///
/// This takes a noticeable fraction of a second, so derive a key once for all files.
pub fn derive_key(app_salt: &str, machine_secret: &str, hostname: &str) -> SigningKey {
    let salt = [app_salt, machine_secret, hostname].concat();
    let mut key = [0; 32];
    // The generic variants would be compiled in this crate, which the dev profile does not optimize: 20 times slower.
    pbkdf2_hmac_with_params(app_salt.as_bytes(), salt.as_bytes(), Algorithm::Pbkdf2Sha256, ROUNDS, &mut key);
    SigningKey(key)
}

/// The result of checking a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureCheck {
    /// The signature was made by one of the keys, over these contents.
    Valid,
    /// The file has no signature; JidoCode loads it with a warning.
    Unsigned,
    /// The signature was not made by any of the keys over these contents; JidoCode refuses the file.
    Wrong,
    /// The signature cannot be checked.
    Unsupported(Unsupported),
}

/// Writes the text that JidoCode signs, in pieces.
pub fn canonical(bytes: &[u8], out: &mut impl FnMut(&[u8])) -> Result<(), EncodeError> {
    Encoder { out, signature: None }.value(document(bytes)?, 0)
}

/// Checks the signature of a file against each key.
pub fn check(bytes: &[u8], keys: &[SigningKey]) -> Result<SignatureCheck, LoadError> {
    let mut signature = None;
    walk(document(bytes)?, |key, value| {
        if key == "signature" {
            signature.get_or_insert(value);
        }
        Ok::<_, LoadError>(())
    })?;
    let Some(signature) = signature.filter(|json| *json != "null") else {
        return Ok(SignatureCheck::Unsigned);
    };
    if keys.is_empty() {
        return Ok(SignatureCheck::Unsupported(Unsupported::NoKey));
    }
    let mut macs: Vec<_> = keys.iter().map(mac).collect();
    let mut update = |piece: &[u8]| macs.iter_mut().for_each(|mac| mac.update(piece));
    match canonical(bytes, &mut update) {
        Ok(()) => {}
        Err(EncodeError::Load(refusal)) => return Err(refusal),
        Err(EncodeError::Unsupported(reason)) => return Ok(SignatureCheck::Unsupported(reason)),
    }
    let tag = string(signature)?.and_then(|text| STANDARD.decode(text.as_bytes()).ok());
    let is_valid = tag.is_some_and(|tag| macs.into_iter().any(|mac| mac.verify_slice(&tag).is_ok()));
    Ok(if is_valid { SignatureCheck::Valid } else { SignatureCheck::Wrong })
}

/// Returns the file in JidoCode's encoding with a new signature, which replaces an existing one.
pub fn sign(bytes: &[u8], key: &SigningKey) -> Result<Vec<u8>, EncodeError> {
    let mut mac = mac(key);
    canonical(bytes, &mut |piece| mac.update(piece))?;
    let signature = format!("\"{}\"", STANDARD.encode(mac.finalize().into_bytes()));
    let mut signed = Vec::with_capacity(bytes.len() + signature.len());
    Encoder { out: &mut |piece: &[u8]| signed.extend_from_slice(piece), signature: Some(&signature) }
        .value(document(bytes)?, 0)?;
    Ok(signed)
}

fn mac(key: &SigningKey) -> Hmac<Sha256> {
    // HMAC itself pads a short key with zeros to a block; done here, the length needs no check.
    let mut block = [0; 64];
    block[..key.0.len()].copy_from_slice(&key.0);
    Hmac::new(&block.into())
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::{Just, Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};
    use serde_json::{Value, json};
    use sha2::Digest;

    use super::*;
    use crate::agent::jido::encoder::{number, short};

    /// The unsigned text of the vector and its signature, made with a few lines of Python; Erlang derives the same key.
    const UNSIGNED: &str = r#"{
  "closed_at": "2026-01-02T03:06:05.000000Z",
  "config": {
    "max_tokens": 4096,
    "model": "m1",
    "provider": "anthropic",
    "temperature": 0.7
  },
  "conversation": [
    {
      "content": "tab\there \u001B[31m \"q\" \\ / é",
      "id": "0011223344556677",
      "role": "user",
      "timestamp": "2026-01-02T03:04:06.000000Z"
    }
  ],
  "created_at": "2026-01-02T03:04:05.000000Z",
  "id": "3f2b8c1e-6f0d-4c2a-9b7e-5a1d2c3e4f50",
  "language": "rust",
  "name": "demo",
  "project_path": "/tmp/demo",
  "prompt_history": [
    "hi"
  ],
  "todos": [],
  "updated_at": "2026-01-02T03:05:05.000000Z",
  "version": 1
}"#;
    const SIGNATURE: &str = "KrSmAzWFt6sb02xtDl0lYDtqB48lqqUFQ9HB/atojIQ=";

    static KEY: LazyLock<SigningKey> = LazyLock::new(|| {
        let secret = "00112233445566778899aabbccddeeff".repeat(2);
        derive_key(APP_SALTS[0], &secret, "examplehost")
    });

    fn signed() -> String {
        let line = format!("  \"signature\": \"{SIGNATURE}\",\n  \"todos\"");
        UNSIGNED.replace("  \"todos\"", &line)
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn encoded(json: &str) -> Result<String, EncodeError> {
        let mut text = Vec::new();
        canonical(json.as_bytes(), &mut |piece| text.extend_from_slice(piece))?;
        Ok(String::from_utf8(text).expect("UTF-8"))
    }

    fn outcome(json: &str) -> SignatureCheck {
        check(json.as_bytes(), &[SigningKey([7; 32]), KEY.clone()]).expect("an outcome")
    }

    #[test]
    fn signature_matches_known_test_vector() {
        assert_eq!(hex(&KEY.0), "8e3c4493ebe0ee774d772b2c09d9c626825dc2b4774ed5f29d196af87da9b299");
        assert_eq!(encoded(&signed()).as_deref(), Ok(UNSIGNED));
        let digest = Sha256::digest(UNSIGNED);
        assert_eq!(hex(&digest), "ae2461b9626b1e6fc98c06b0e845a0b9df43598abc6f35d387703c9c8f6d56dd");
        let again = sign(UNSIGNED.as_bytes(), &KEY).expect("a file");
        assert_eq!(String::from_utf8(again).expect("UTF-8"), signed());
        assert_eq!(outcome(&signed()), SignatureCheck::Valid);
    }

    #[test]
    fn signature_ignores_whitespace_escapes_and_key_order() {
        let value: Value = serde_json::from_str(&signed()).expect("JSON");
        let members = value.as_object().expect("an object").iter().rev();
        let members: Vec<_> = members.map(|(key, value)| format!("{}:{value}", json!(key))).collect();
        let text = format!("\n{{{}}}\r\n", members.join(" ,\t"));
        assert_eq!(outcome(&text), SignatureCheck::Valid);
        assert_eq!(outcome(&text.replace("/tmp/demo", "\\/tmp\\u002Fdemo")), SignatureCheck::Valid);
        assert_eq!(outcome(&text.replace("0.7", "7e-1")), SignatureCheck::Valid);
    }

    #[test]
    fn signature_detects_changed_values() {
        for (from, to) in [("demo", "demo "), ("0.7", "0.8"), ("4096", "4096.0"), ("[]", "{}"), ("KrSm", "KrSn")] {
            assert_eq!(outcome(&signed().replace(from, to)), SignatureCheck::Wrong, "{to}");
        }
        let text = signed().replacen('{', "{\"extra\": null,", 1);
        assert_eq!(outcome(&text), SignatureCheck::Wrong);
        for odd in ["\"\"", "12", "\"?\"", "\"KrSmAzWFt6sb02xtDl0lYDtqB48lqqUFQ9HB/atojIQ\""] {
            let text = signed().replace(&format!("\"{SIGNATURE}\""), odd);
            assert_eq!(outcome(&text), SignatureCheck::Wrong, "{odd}");
        }
        assert_eq!(check(signed().as_bytes(), &[SigningKey([7; 32])]), Ok(SignatureCheck::Wrong));
    }

    #[test]
    fn file_without_signature_is_unsigned() {
        assert_eq!(outcome(UNSIGNED), SignatureCheck::Unsigned);
        assert_eq!(outcome(r#"{"signature": null}"#), SignatureCheck::Unsigned);
        assert_eq!(outcome(r#"{"config": {"signature": "KrSm"}}"#), SignatureCheck::Unsigned);
        assert_eq!(check(b"[]", &[]), Err(LoadError::NotAMap));
    }

    #[test]
    fn uncheckable_signature_is_unsupported_not_wrong() {
        let unsupported = |reason| SignatureCheck::Unsupported(reason);
        assert_eq!(check(signed().as_bytes(), &[]), Ok(unsupported(Unsupported::NoKey)));
        let object = |keys: usize| {
            let members: Vec<_> = (0..keys).map(|at| format!("\"k{at}\":0")).collect();
            members.join(",")
        };
        let nested = |keys| outcome(&format!(r#"{{"signature":"","a":{{{}}}}}"#, object(keys)));
        assert_eq!(nested(32), SignatureCheck::Wrong);
        assert_eq!(nested(33), unsupported(Unsupported::ManyKeys));
        let top = |keys| outcome(&format!(r#"{{{},"signature":""}}"#, object(keys)));
        assert_eq!(top(32), SignatureCheck::Wrong);
        assert_eq!(top(33), unsupported(Unsupported::ManyKeys));
        let lists = |depth| {
            let (open, close) = ("[".repeat(depth), "]".repeat(depth));
            outcome(&format!(r#"{{"signature":"","a":{open}{close}}}"#))
        };
        assert_eq!(lists(31), SignatureCheck::Wrong);
        assert_eq!(lists(32), unsupported(Unsupported::Deep));
        assert_eq!(lists(1_000_000), unsupported(Unsupported::Deep));
    }

    #[test]
    fn signature_covers_first_duplicate_key() {
        let text = signed().replacen('}', ",\"model\": \"other\"}", 1);
        assert_eq!(outcome(&text), SignatureCheck::Valid);
        let text = signed().replacen('{', "{\"n\\u0061me\": \"other\",", 1);
        assert_eq!(outcome(&text), SignatureCheck::Wrong);
    }

    #[test]
    fn encoder_formats_json_like_jason() {
        let text = encoded(r#"{"b":[[],{},[null,true]],"é":0,"a":{"":-1},"B":"\u0000\u007f\u2028\/\b\f"}"#);
        let expected = "{\n  \"B\": \"\\u0000\u{7f}\u{2028}/\\b\\f\",\n  \"a\": {\n    \"\": -1\n  },\n  \"b\": [\n    [],\n    \
                        {},\n    [\n      null,\n      true\n    ]\n  ],\n  \"é\": 0\n}";
        assert_eq!(text.as_deref(), Ok(expected));
        assert_eq!(encoded("{}").as_deref(), Ok("{}"));
    }

    #[test]
    fn encoder_formats_numbers_like_elixir() {
        let long = "123456789012345678901234567890";
        for same in ["0", "-1", "18446744073709551616", long, "0.7", "1.0", "-0.0", "123456.789"] {
            assert_eq!(number(same).as_deref(), Ok(same));
        }
        let table = [
            ("-0", "0"),
            ("0e9", "0.0"),
            ("1E2", "100.0"),
            ("1e+3", "1.0e3"),
            ("0.0001", "0.0001"),
            ("0.00012", "1.2e-4"),
            ("0.00001", "1.0e-5"),
            ("100000.0", "1.0e5"),
            ("123450.0", "123450.0"),
            ("1234500.0", "1.2345e6"),
            ("12345678900.0", "12345678900.0"),
            ("123456789000.0", "1.23456789e11"),
            ("1.0e22", "1.0e22"),
            ("9007199254740991.0", "9007199254740991.0"),
            ("9007199254740993.0", "9.007199254740992e15"),
            ("1125899906842624.25", "1125899906842624.2"),
            ("1125899906842624.75", "1125899906842624.8"),
            ("0.30000000000000004", "0.30000000000000004"),
            ("9.5367431640625E-7", "9.5367431640625e-7"),
            ("4.0e-324", "5.0e-324"),
            ("-1.0e-400", "-0.0"),
            ("2.2250738585072014e-308", "2.2250738585072014e-308"),
            ("1.7976931348623157e308", "1.7976931348623157e308"),
        ];
        for (json, text) in table {
            assert_eq!(number(json).as_deref(), Ok(text), "{json}");
        }
        assert_eq!(number("1e400").expect_err("a refusal").code(), "invalid-json");
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            (-1e4..1e4).prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::hash_map(any::<String>(), inner, 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn encoding_is_idempotent(value in values(), key in any::<String>()) {
            let once = encoded(&json!({ key: value.clone() }).to_string()).expect("a text");
            prop_assert_eq!(encoded(&once).expect("a text"), once.clone());
        }

        #[test]
        fn signed_document_verifies_with_its_key(value in values(), key in any::<[u8; 32]>()) {
            let text = json!({ "a": value, "signature": "old" }).to_string();
            let signed = sign(text.as_bytes(), &SigningKey(key)).expect("a file");
            prop_assert_eq!(check(&signed, &[SigningKey(key)]), Ok(SignatureCheck::Valid));
            prop_assert_eq!(check(text.as_bytes(), &[SigningKey(key)]), Ok(SignatureCheck::Wrong));
        }

        #[test]
        fn float_round_trips(float in any::<f64>()) {
            if let Some(text) = short(float) {
                prop_assert_eq!(text.parse(), Ok(float));
            }
        }
    }
}
