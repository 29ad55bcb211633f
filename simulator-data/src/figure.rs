// SPDX-License-Identifier: GPL-2.0-only
//! Numbers as they were printed, and numbers as several seeds give them.

/// A published figure: its digits are part of the data.
#[derive(Clone, Debug, PartialEq)]
pub struct Printed {
    /// As printed.
    pub text: String,
    /// The number.
    pub value: f64,
    /// Digits after the point.
    pub decimals: usize,
}

impl Printed {
    /// Reads a plain decimal number.
    pub fn read(text: &str) -> Option<Self> {
        let plain = text.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '-');
        let value = text.parse::<f64>().ok().filter(|v| plain && v.is_finite())?;
        let decimals = text.split_once('.').map_or(0, |(_, digits)| digits.len());
        Some(Self { text: text.to_owned(), value, decimals })
    }

    /// A figure of ours with as many digits as this one.
    pub fn round_alike(&self, ours: f64) -> f64 {
        let scale = 10f64.powi(self.decimals as i32);
        (ours * scale).round() / scale
    }
}

/// A simulated figure: one value a seed, in the published unit at the published size.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Seeds(pub Vec<f64>);

impl Seeds {
    /// The mean; `None` without values or where one is no number.
    pub fn mean(&self) -> Option<f64> {
        let mean = self.0.iter().sum::<f64>() / self.0.len() as f64;
        mean.is_finite().then_some(mean)
    }

    /// The standard deviation of a sample; `None` under two values.
    pub fn sd(&self) -> Option<f64> {
        let mean = self.mean()?;
        let squares: f64 = self.0.iter().map(|v| (v - mean).powi(2)).sum();
        (self.0.len() > 1).then(|| (squares / (self.0.len() - 1) as f64).sqrt())
    }

    /// The standard deviation in per cent of the mean.
    pub fn sd_pct(&self) -> Option<f64> {
        let pct = 100.0 * self.sd()? / self.mean()?.abs();
        pct.is_finite().then_some(pct)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn printed_figures_keep_their_digits() {
        let slice = Printed::read("0.10").unwrap();
        assert_eq!((slice.value, slice.decimals), (0.1, 2));
        assert_eq!(slice.round_alike(0.1049), 0.1);
        assert_eq!(slice.round_alike(0.1051), 0.11);
        let count = Printed::read("105476").unwrap();
        assert_eq!((count.value, count.decimals), (105_476.0, 0));
        assert_eq!(count.round_alike(7.5), 8.0);
        for bad in ["", "x", "1e3", "nan", "inf", "1,000", "--1", "."] {
            assert_eq!(Printed::read(bad), None, "{bad}");
        }
    }

    #[test]
    fn seeds_have_mean_and_spread() {
        let seeds = Seeds(vec![9.0, 10.0, 11.0]);
        assert_eq!((seeds.mean(), seeds.sd(), seeds.sd_pct()), (Some(10.0), Some(1.0), Some(10.0)));
        assert_eq!((Seeds(vec![5.0]).mean(), Seeds(vec![5.0]).sd()), (Some(5.0), None));
        assert_eq!(Seeds(vec![]).mean(), None);
        assert_eq!(Seeds(vec![1.0, f64::NAN]).mean(), None);
        assert_eq!(Seeds(vec![0.0, 0.0]).sd_pct(), None);
    }
}
