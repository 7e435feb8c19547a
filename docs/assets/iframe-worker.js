// The search runs in a Web Worker, which browsers do not start for pages that are opened as files.
// There, this replacement runs the worker's script in a hidden frame.
"use strict";
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.ready = new Promise((resolve) => {
        const start = () => {
          this.frame = document.createElement("iframe");
          this.frame.hidden = true;
          document.body.append(this.frame);
          const page = this.frame.contentDocument;
          page.open();
          page.write("<!DOCTYPE html><body></body>");
          page.close();
          const inside = this.frame.contentWindow;
          inside.postMessage = (data) => this.hear(data);
          inside.importScripts = (...urls) => urls.reduce(
            (before, one) => before.then(() => this.load(one)), Promise.resolve());
          this.load(new URL(url, location.href).href).then(resolve);
        };
        if (document.body) start();
        else document.addEventListener("DOMContentLoaded", start);
      });
    }
    load(url) {
      return new Promise((resolve) => {
        const script = this.frame.contentDocument.createElement("script");
        script.src = url;
        script.onload = resolve;
        this.frame.contentDocument.body.append(script);
      });
    }
    hear(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      if (this.onmessage) this.onmessage(event);
    }
    postMessage(data) {
      this.ready.then(() => {
        const inside = this.frame.contentWindow;
        inside.dispatchEvent(new inside.MessageEvent("message", { data }));
      });
    }
    terminate() {
      if (this.frame) this.frame.remove();
    }
  };
}
