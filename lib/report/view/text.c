/* SPDX-License-Identifier: MIT */
#include "report/view/page.h"

static void render(const struct view *view, const struct analysis *analysis,
		   const struct style *style, FILE *out)
{
	struct page page = { .out = out, .style = *style };

	view->print(&page, analysis);
}

const struct renderer text_renderer = { .render = render };
