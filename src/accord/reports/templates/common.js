  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child !== null));
    return element;
  }

  const superscript = (n) => [...String(n)].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("");
  function num(value, digits = 4) {
    if (value === 0) return "0";
    const size = Math.abs(value);
    let text;
    if (size >= 1e-4 && size < 1e6) {
      const places = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
      text = value.toLocaleString("en-US", { maximumFractionDigits: Math.min(places, 20) });
    } else {
      const [mantissa, power] = value.toExponential(digits - 1).split("e");
      text = `${Number(mantissa)}×10${superscript(Number(power))}`;
    }
    return text.replace("-", "−");
  }
  const percent = (share) => (share >= 1e-6 || share === 0 ? `${num(100 * share, 3)}\u00a0%` : num(share, 3));
  const sum = (values) => values.reduce((a, b) => a + b, 0);
