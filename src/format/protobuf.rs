//! Reads fields of messages in the wire format of protobuf, without a schema.

/// The value of a field in its wire type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WireValue<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    Other,
}

/// The fields of a message; it ends at the first byte that is not a field.
struct ProtobufFields<'a>(&'a [u8]);

impl<'a> ProtobufFields<'a> {
    fn varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn take_bytes(&mut self, length: u64) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(bytes)
    }
}

impl<'a> Iterator for ProtobufFields<'a> {
    type Item = (u64, WireValue<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => WireValue::Number(self.varint()?),
            1 => self.take_bytes(8).map(|_| WireValue::Other)?,
            2 => {
                let length = self.varint()?;
                WireValue::Bytes(self.take_bytes(length)?)
            }
            5 => self.take_bytes(4).map(|_| WireValue::Other)?,
            _ => return None,
        };
        Some((tag >> 3, value))
    }
}

/// Returns the contents of every field with a number.
pub(crate) fn all_fields(message: &[u8], number: u64) -> impl Iterator<Item = &[u8]> {
    ProtobufFields(message).filter_map(move |field| match field {
        (found, WireValue::Bytes(bytes)) if found == number => Some(bytes),
        _ => None,
    })
}

/// Returns the bytes of the field at this path of field numbers.
pub(crate) fn bytes<'a>(message: &'a [u8], numbers: &[u64]) -> Option<&'a [u8]> {
    numbers.iter().try_fold(message, |message, number| all_fields(message, *number).next())
}

/// Returns the text at this path of field numbers, if it is not blank.
pub(crate) fn text<'a>(message: &'a [u8], numbers: &[u64]) -> Option<&'a str> {
    str::from_utf8(bytes(message, numbers)?).ok().filter(|text| !text.trim().is_empty())
}

/// Returns the first number in a field.
pub(crate) fn number(message: &[u8], number: u64) -> Option<u64> {
    ProtobufFields(message).find_map(|field| match field {
        (found, WireValue::Number(value)) if found == number => Some(value),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reader_finds_nested_fields_by_number() {
        // Field 19 with field 2 "hi"; field 1 with 300 in a varint, field 3 of a fixed size.
        let message = [0x9a, 0x01, 0x04, 0x12, 0x02, b'h', b'i', 0x08, 0xac, 0x02, 0x1d, 1, 2, 3, 4];
        assert_eq!(text(&message, &[19, 2]), Some("hi"));
        assert_eq!(number(&message, 1), Some(300));
        assert_eq!((text(&message, &[19, 1]), text(&message, &[2])), (None, None));
    }

    #[test]
    fn damaged_message_has_no_fields() {
        for damaged in [&[0x12, 0xff][..], &[0x12, 0x05, b'a'], &[0x0f], &[0xff; 12], &[0x12], &[]] {
            assert_eq!(bytes(damaged, &[2]), None, "{damaged:?}");
        }
        assert_eq!(text(&[0x12, 0x02, 0xff, 0xff], &[2]), None);
    }
}
