"""The reviewer's page: parses a request, calls `app`, renders. It decides nothing about what may be approved."""
