//! What the header of a kernel promises of its launches (PTX ISA, section 11.3).

use super::Reader;
use crate::diagnostics::Diagnostic;

impl Reader<'_, '_> {
    /// Notes what the directive `word` of a header says, after which the cursor stands, if it is about launches.
    ///
    /// `.maxntid` bounds the product of the dimensions and none of them by itself: a CTA of 1 x 64 threads may run where the
    /// header says `.maxntid 64, 1`. `.reqntid 64` asks for a CTA of one dimension.
    pub(super) fn note_launch(&mut self, word: &[u8]) -> Result<(), Diagnostic> {
        match word {
            b"maxntid" => {
                let named = self.extents()?;
                let product = named.iter().try_fold(1_u32, |all, &dim| all.checked_mul(dim.max(1)));
                self.launch.threads_max = product.filter(|_| named[0] > 0).unwrap_or(0);
            }
            b"maxnreg" => self.launch.registers_max = self.extents()?[0],
            b"minnctapersm" => self.launch.ctas_min = self.extents()?[0],
            b"reqntid" => {
                let named = self.extents()?;
                self.launch.threads = if named[0] > 0 { named.map(|dim| dim.max(1)) } else { named };
            }
            b"reqnctapercluster" => self.launch.cluster = self.extents()?,
            _ => {}
        }
        Ok(())
    }

    /// `x [, y [, z]]`: zeros for what is not named. All zeros where anything but plain decimal numbers stands there.
    fn extents(&mut self) -> Result<[u32; 3], Diagnostic> {
        let mut extents = [0; 3];
        for extent in &mut extents {
            self.cursor.skip_blank()?;
            let first = self.cursor.pos;
            self.cursor.name();
            let digits = &self.cursor.text[first..self.cursor.pos];
            // What starts with a zero is no decimal number.
            let is_decimal = digits.first().is_some_and(|&byte| byte != b'0');
            let number = std::str::from_utf8(digits).ok().filter(|_| is_decimal);
            let Some(number) = number.and_then(|digits| digits.parse().ok()) else { return Ok([0; 3]) };
            *extent = number;
            self.cursor.skip_blank()?;
            if !self.cursor.eat(b',') {
                // An operator would make it another number.
                let is_whole = matches!(self.cursor.peek(), b'.' | b'{' | b';');
                return Ok(if is_whole { extents } else { [0; 3] });
            }
        }
        Ok(extents)
    }
}
